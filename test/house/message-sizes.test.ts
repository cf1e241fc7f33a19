import { contracts } from "../../shared/contracts/index.ts";
import { MEASURED, MESSAGE_BYTES, LARGER_FROM_OLDER, type Side } from "../../shared/contracts/measured-messages.ts";
import { isRecord } from "../../shared/json.ts";

/**
 * The worst case of every message on the bus, computed from its schema: NATS refuses a message over a mebibyte, and the one who waits for it learns
 * nothing but that it did not come.
 */
const MOST_BYTES = 512 * 1024;
const SIDES: readonly Side[] = ["params", "result"];

/** Bytes of JSON: a character is six at most (\\u0001), a number 25 (-1.7976931348623157e+308). */
const CHARACTER = 6;
const QUOTES = 2;
const NUMBER = 25;
/** What texts of these formats take: times as toISOString writes them, or as a query holds them; UUIDs. */
const FORMATS: Readonly<Record<string, number>> = { "date-time": 64, uuid: 36 };
/** Patterns that bound a text by themselves, all of them ASCII, with the longest text that matches. */
const PATTERNS: Readonly<Record<string, number>> = {
  "^[a-z0-9_]{1,32}\\.[a-z0-9_]{1,32}$": 65,
  "^\\+[1-9][0-9]{6,14}$": 16,
  "^[A-Za-z][A-Za-z0-9_]{0,63}$": 64,
  "^[A-Za-z][A-Za-z0-9_-]{0,63}$": 64,
  "^([01][0-9]|2[0-3]):[0-5][0-9]$": 5,
  "^[0-9*#w]{1,32}$": 32,
  // the number of a claim is an integer of at most 16 digits
  "^[0-9a-fA-F-]{36}\\.[1-9][0-9]*$": 53,
};

type Schema = Record<string, unknown>;
const numberIn = (schema: Schema, word: string): number => {
  const value = schema[word];
  return typeof value === "number" ? value : Number.POSITIVE_INFINITY;
};
const schemaIn = (schema: Schema, word: string): Schema => {
  const value = schema[word];
  return isRecord(value) ? value : {};
};

function textBytes(schema: Schema): number {
  const own = FORMATS[String(schema["format"])] ?? PATTERNS[String(schema["pattern"])];
  const most = own ?? numberIn(schema, "maxLength") * ("pattern" in schema ? 1 : CHARACTER);
  return QUOTES + most;
}

/** Names, colons and commas, and the values. */
const objectBytes = (schema: Schema): number =>
  "patternProperties" in schema
    ? Number.POSITIVE_INFINITY
    : Object.entries(schemaIn(schema, "properties")).reduce(
        (sum, [name, of]) => sum + name.length + 4 + (isRecord(of) ? worstBytes(of) : Number.POSITIVE_INFINITY),
        2,
      );

function ownBytes(schema: Schema): number {
  const { type } = schema;
  if ("const" in schema) return JSON.stringify(schema["const"]).length;
  if (Array.isArray(schema["enum"])) return Math.max(...schema["enum"].map((word) => JSON.stringify(word).length));
  if (Array.isArray(schema["anyOf"])) return Math.max(...schema["anyOf"].filter(isRecord).map(worstBytes));
  if (type === "null" || type === "boolean") return "false".length;
  if (type === "integer" || type === "number") return NUMBER;
  if (type === "string") return textBytes(schema);
  if (type === "array") return 2 + numberIn(schema, "maxItems") * (1 + worstBytes(schemaIn(schema, "items")));
  return type === "object" ? objectBytes(schema) : Number.POSITIVE_INFINITY;
}

/** Most bytes of a value as JSON; infinite where nothing bounds it. */
function worstBytes(schema: Schema): number {
  const checked = numberIn(schema, "x-maxBytes");
  return Math.min(checked, ownBytes(schema));
}

const messages = Object.entries(contracts).flatMap(([service, { actions }]) =>
  Object.entries(actions).flatMap(([name, action]) =>
    SIDES.map((side) => {
      const schema: unknown = JSON.parse(JSON.stringify(action[side]));
      const bytes = isRecord(schema) ? worstBytes(schema) : Number.POSITIVE_INFINITY;
      return { action: `${service}.${name}`, side, bytes, measured: MEASURED[`${service}.${name}`]?.includes(side) ?? false };
    }),
  ),
); // prettier-ignore

test("every message of the bus is below 512 KiB: by its schema, or because the bus measures it", () => {
  const named = messages.filter((m) => !m.measured && m.bytes >= MOST_BYTES).map((m) => `${m.action} ${m.side}`);
  expect(named).toEqual([]);
  expect(MESSAGE_BYTES).toBeLessThan(MOST_BYTES);
});

test("nothing is measured whose schema bounds it already, and nothing that is no action", () => {
  const known = new Map(messages.map((m) => [`${m.action} ${m.side}`, m.bytes]));
  const listed = Object.entries(MEASURED).flatMap(([action, sides]) => sides.map((side) => `${action} ${side}`));
  expect(listed.filter((name) => (known.get(name) ?? 0) < MOST_BYTES)).toEqual([]);
  expect(Object.entries(LARGER_FROM_OLDER).every(([action, side]) => MEASURED[action]?.includes(side))).toBe(true);
});

describe("the worst case of a schema", () => {
  test.each([
    ["a text", { type: "string", maxLength: 10 }, 62],
    ["a text without a bound", { type: "string" }, Number.POSITIVE_INFINITY],
    ["a list of them", { type: "array", maxItems: 3, items: { type: "string", maxLength: 1 } }, 29],
    ["a list without a bound", { type: "array", items: { type: "boolean" } }, Number.POSITIVE_INFINITY],
    ["an object", { type: "object", properties: { a: { const: 1 }, b: { enum: ["x", "yy"] } } }, 17],
    ["any JSON", { type: "object", patternProperties: { "^.*$": {} } }, Number.POSITIVE_INFINITY],
    ["any JSON of so many bytes", { type: "object", patternProperties: { "^.*$": {} }, "x-maxBytes": 100 }, 100],
    ["one of several", { anyOf: [{ type: "null" }, { type: "string", pattern: "^x$", maxLength: 8 }] }, 10],
  ])("%s", (_what, schema, bytes) => {
    expect(worstBytes(schema)).toBe(bytes);
  });
});
