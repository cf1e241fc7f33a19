import { isRecord } from "../../../shared/json.ts";

/** What stands for a variable of which its schema says nothing, by a word in its name; the first that is in it. */
const BY_NAME: readonly (readonly [word: RegExp, value: string])[] = [
  [/e_?mail/, "ada.lindqvist@example.com"],
  [/url|link|website/, "https://www.example.com"],
  [/phone|mobile|callback/, "+14155550142"],
  [/doctor|physician|dentist|therapist/, "Doctor Grace Wong"],
  [/agent|advis|consultant|manager|technician|driver/, "Grace Wong"],
  [/company|business|shop|store|clinic|practice|bank|brand|vendor|supplier/, "Northwind Outfitters"],
  [/last_?name|surname/, "Lindqvist"],
  [/first_?name/, "Ada"],
  [/birth/, "April 2, 1984"],
  [/year/, "2026"],
  [/weekday/, "Monday"],
  [/month/, "June"],
  [/time|hour|slot/, "9:30 am"],
  [/date|day|deadline|due/, "Monday, June 9"],
  [/currency/, "dollars"],
  [/amount|price|total|balance|cost|fee|debt|payment|premium|sum/, "42.00"],
  [/count|quantity|days|minutes|years|age$/, "3"],
  [/city|town/, "San Francisco"],
  [/country/, "the United States"],
  [/zip|postal|postcode/, "94105"],
  [/address|street|location|place|venue/, "12 Market Street"],
  [/product|item|package|model|plan/, "hiking boots"],
  [/service|treatment|appointment|course|event/, "a check-up"],
  [/id$|_no$|number|code|reference|ref$|order|invoice|ticket|account|policy/, "A-1017"],
  [/language/, "English"],
  [/reason|topic|subject|note|message|comment/, "a question about the last order"],
  [/name|customer|patient|person|contact|user|client|member/, "Ada Lindqvist"],
];
const OTHERWISE = "an example";
/** Formats of JSON Schema that a value must have. */
const BY_FORMAT: Readonly<Record<string, string>> = {
  date: "2026-06-09",
  time: "09:30:00Z",
  "date-time": "2026-06-09T09:30:00Z",
  email: "ada.lindqvist@example.com",
  uri: "https://www.example.com",
  uuid: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
};

const numberIn = ({ minimum, exclusiveMinimum, maximum }: Record<string, unknown>): number => {
  if (typeof minimum === "number") return minimum;
  if (typeof exclusiveMinimum === "number") return exclusiveMinimum + 1;
  return typeof maximum === "number" && maximum < 1 ? maximum : 1;
};

/** A text that fits the lengths of its schema; a pattern it is not made for. */
function textFor(name: string, { format, maxLength, minLength }: Record<string, unknown>): string {
  const word = name.toLowerCase();
  const text = BY_FORMAT[String(format)] ?? BY_NAME.find(([part]) => part.test(word))?.[1] ?? OTHERWISE;
  const long = typeof minLength === "number" ? text.padEnd(minLength, ".") : text;
  return typeof maxLength === "number" ? long.slice(0, maxLength) : long;
}

/** The value that a schema itself names; undefined: it names none. */
function toldValue(schema: unknown): unknown {
  const rules = isRecord(schema) ? schema : {};
  const told = [rules["const"], rules["examples"], rules["default"], rules["enum"]].flat();
  return told.find((value) => value !== undefined && value !== null);
}

/** A value for a variable that nobody gave: what its schema says of it, else one that makes sense of its name. */
function sampleValue(name: string, schema: unknown): unknown {
  const told = toldValue(schema);
  if (told !== undefined) return told;
  const rules = isRecord(schema) ? schema : {};
  const [type] = [rules["type"]].flat().filter((one) => one !== "null");
  if (type === "number" || type === "integer") return numberIn(rules);
  if (type === "boolean") return true;
  if (type === "array") return [];
  return type === "object" ? samplePayload(rules, {}) : textFor(name, rules);
}

/** What is given, and for the rest that a schema requires what `value` finds. */
function filled(
  schema: unknown,
  given: Readonly<Record<string, unknown>>,
  value: (name: string, schema: unknown) => unknown,
): Record<string, unknown> {
  const { properties, required } = isRecord(schema) ? schema : {};
  const rules = isRecord(properties) ? properties : {};
  const needed = (Array.isArray(required) ? required.map(String) : []).filter((name) => !Object.hasOwn(given, name));
  const found = needed.map((name): [string, unknown] => [name, value(name, rules[name])]);
  return { ...Object.fromEntries(found.filter(([, one]) => one !== undefined)), ...given };
}

/** A payload for a conversation that is tried out: what is given, and sample values for the rest that the template requires. Nobody is called: there is no number. */
export const samplePayload = (schema: unknown, given: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  filled(schema, given, sampleValue);

/** What is given, and the values that the schema itself names for the rest that it requires. */
export const toldPayload = (schema: unknown, given: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  filled(schema, given, (_name, rules) => toldValue(rules));
