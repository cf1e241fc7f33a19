import type { Moment } from "./day-and-time.ts";
import { contentStems, normalise, wordsOf } from "./english.ts";

/** A JSON Schema as it came in a tool. */
export type Schema = Readonly<Record<string, unknown>>;

/** What the arguments are read from. */
export type Said = Readonly<{
  /** The person's words, latest first; older ones from the same node of the conversation may fill gaps. */
  texts: readonly string[];
  /** Days and times that may be taken as wishes, latest text first. */
  moments: readonly Moment[];
  /** Keys pressed, when the answer came from the keypad. */
  keys: string | null;
}>;

/** Arguments found, and the required ones that were not said. */
export type Filling = Readonly<{ values: Readonly<Record<string, unknown>>; missing: readonly string[] }>;

/** Properties of an object schema, in its order. */
export function propertiesOf(schema: Schema): [string, Schema][] {
  const properties = asSchema(schema["properties"]);
  return Object.entries(properties).map(([name, property]) => [name, asSchema(property)]);
}

/** Fills an object schema from what was said; only values that were said and fit the schema are used. */
export function fillArguments(schema: Schema, said: Said): Filling {
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const properties = propertiesOf(schema);
  const timeApart =
    properties.some(([name]) => isTimeName(name)) &&
    properties.some(([name, property]) => wantsMoment(name, property) === "day");
  const values: Record<string, unknown> = {};
  const missing: string[] = [];
  for (const [name, property] of properties) {
    const value = valueFor(name, property, said, { required: required.has(name), timeApart });
    if (value !== undefined) values[name] = value;
    else if (required.has(name)) missing.push(name);
  }
  return { values, missing };
}

/** Whether a property holds a day or a time rather than free text. */
export function wantsMoment(name: string, property: Schema): "day" | "time" | null {
  const format = property["format"];
  if (format === "date" || format === "date-time") return "day";
  if (format === "time") return "time";
  if (typeOf(property) !== "string" || Array.isArray(property["enum"])) return null;
  const words = wordsOf(name);
  if (words.some((word) => /^(day|date|weekday|when|deadline)$/.test(word))) return "day";
  if (isTimeName(name)) return "time";
  return /\b(day|date|weekday)\b/.test(normalise(descriptionOf(property))) ? "day" : null;
}

/** Whether a property takes a person's words as they are. */
export function isFreeText(name: string, property: Schema): boolean {
  return (
    typeOf(property) === "string" &&
    !Array.isArray(property["enum"]) &&
    property["format"] === undefined &&
    property["pattern"] === undefined &&
    wantsMoment(name, property) === null
  );
}

type Circumstances = Readonly<{ required: boolean; timeApart: boolean }>;

function valueFor(name: string, property: Schema, said: Said, how: Circumstances): unknown {
  if (property["const"] !== undefined) return property["const"];
  if (Array.isArray(property["enum"])) return enumValue(property["enum"], said);
  const moment = wantsMoment(name, property);
  if (moment !== null) return momentValue(moment, property, said, how.timeApart);
  switch (typeOf(property)) {
    case "integer":
    case "number":
      return numberValue(property, said);
    case "boolean":
      return booleanValue(name, said.texts[0] ?? "");
    case "array": {
      const item = valueFor(name, asSchema(property["items"]), said, how);
      return item === undefined ? undefined : [item];
    }
    case "string":
      return stringValue(name, property, said, how.required);
    default:
      return undefined;
  }
}

function enumValue(values: readonly unknown[], said: Said): unknown {
  for (const text of said.texts) {
    const words = new Set([...wordsOf(text), ...contentStems(text)]);
    const hit = values.find((value) => {
      const wanted = wordsOf(String(value));
      return (
        wanted.length > 0 &&
        wanted.every((word) => words.has(word) || [...contentStems(word)].some((part) => words.has(part)))
      );
    });
    if (hit !== undefined) return hit;
  }
  return undefined;
}

function momentValue(kind: "day" | "time", property: Schema, said: Said, timeApart: boolean): string | undefined {
  if (kind === "time") return said.moments.find((moment) => moment.time !== null)?.time ?? undefined;
  const moment = said.moments.find((one) => one.day !== null);
  if (moment === undefined || moment.day === null) return undefined;
  if (typeof property["format"] === "string") return /\d{4}-\d{2}-\d{2}/.exec(moment.day)?.[0];
  if (timeApart) return moment.day;
  return moment.text.replace(/^(on|this|at) /, "");
}

const NUMBER_WORDS =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split(
    " ",
  );

function numberValue(property: Schema, said: Said): number | undefined {
  for (const text of said.keys === null ? said.texts : [said.keys, ...said.texts]) {
    for (const word of normalise(text).match(/-?\d+(?:[.,]\d+)?|[a-z]+/g) ?? []) {
      const spelled = NUMBER_WORDS.indexOf(word);
      const value = spelled >= 0 ? spelled : Number(word.replace(",", "."));
      if (Number.isFinite(value) && fits(value, property)) return value;
    }
  }
  return undefined;
}

function fits(value: number, property: Schema): boolean {
  const least = property["minimum"];
  const most = property["maximum"];
  if (typeOf(property) === "integer" && !Number.isInteger(value)) return false;
  return !(typeof least === "number" && value < least) && !(typeof most === "number" && value > most);
}

function booleanValue(name: string, text: string): boolean | undefined {
  const plain = normalise(text);
  if (/^(?:oh |well )?(?:no|nope|nah)\b|\bnot\b/.test(plain)) return false;
  if (/\b(?:yes|yeah|yep|sure|ok|okay|certainly|absolutely|definitely|of course|please do)\b/.test(plain)) return true;
  return [...contentStems(name)].some((part) => contentStems(plain).has(part)) ? true : undefined;
}

function stringValue(name: string, property: Schema, said: Said, required: boolean): string | undefined {
  const text = (said.texts[0] ?? "").trim();
  if (property["format"] === "email") return /[\w.+-]+@[\w-]+\.[\w.]+\w/.exec(text)?.[0];
  if (wordsOf(name).some((word) => /^(digits?|pin|code|phone|number|postcode|zip)$/.test(word)))
    return said.keys ?? /\+?\d[\d -]*\d|\d/.exec(text)?.[0]?.replace(/[ -]/g, "");
  const pattern = property["pattern"];
  if (typeof pattern === "string") return matching(pattern, text);
  if (required) return text === "" || said.keys !== null ? undefined : text;
  const reason = /\b(?:because|since|as) (.+?)[.!]?$/i.exec(text)?.[1];
  return wordsOf(name).some((word) => /^(reason|why|cause)$/.test(word)) ? reason : undefined;
}

function matching(pattern: string, text: string): string | undefined {
  try {
    return new RegExp(pattern, "u").exec(text)?.[0];
  } catch {
    return undefined; // A pattern this engine can't read can't be met: the argument counts as not said.
  }
}

function isTimeName(name: string): boolean {
  return wordsOf(name).some((word) => /^(time|hour|clock)$/.test(word));
}

function typeOf(schema: Schema): unknown {
  const type = schema["type"];
  return Array.isArray(type) ? type.find((one) => one !== "null") : type;
}

/** A schema's description, "" when it has none. */
export function descriptionOf(schema: Schema): string {
  return typeof schema["description"] === "string" ? schema["description"] : "";
}

function asSchema(value: unknown): Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}
