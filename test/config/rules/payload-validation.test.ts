import { cpuUsedMs } from "../../../shared/process/cpu-limit.ts";
import { payloadCheck } from "../../../services/config/rules/payload-validation.ts";

const closed = {
  type: "object",
  required: ["name"],
  properties: { name: { type: "string" }, day: { type: "string", format: "date" } },
  additionalProperties: false,
};
const PHONE = { customer_mobile_number: "+14155550100", reporting_webhook_url: "https://x.example/hook" };
const paths = (schema: Record<string, unknown> | null, payload: unknown): string[] =>
  payloadCheck(schema)(payload).map((f) => f.path);

test("every fault at once, each under payload", () => {
  expect(payloadCheck(closed)({ day: "tomorrow", colour: "red" })).toEqual([
    { path: "payload.name", message: "is required" },
    { path: "payload.colour", message: "is not a known field" },
    { path: "payload.day", message: 'must match format "date"' },
  ]);
});

test("no schema takes anything", () => {
  expect(paths(null, { a: 1 })).toEqual([]);
});

test.each<[string, Record<string, unknown>]>([
  ["closed at its root", closed],
  ["closed by unevaluatedProperties", { type: "object", properties: { name: {} }, unevaluatedProperties: false }],
  ["closed in a definition", { $ref: "#/$defs/p", $defs: { p: closed } }],
  [
    "closed in every branch",
    {
      oneOf: [closed, { type: "object", properties: { other: {} }, required: ["other"], additionalProperties: false }],
    },
  ],
  [
    "closed, speaking of the number only",
    { ...closed, properties: { ...closed.properties, customer_mobile_number: { type: "string" } } },
  ],
  ["closed, requiring the number without describing it", { ...closed, required: ["name", "customer_mobile_number"] }],
  ["counting its properties", { type: "object", maxProperties: 1 }],
])("the number and the report's address always pass: a schema %s", (_what, schema) => {
  expect(paths(schema, { name: "Ann", ...PHONE })).toEqual([]);
});

test("what the schema says of the number holds", () => {
  const schema = {
    ...closed,
    required: ["name", "customer_mobile_number"],
    properties: { ...closed.properties, customer_mobile_number: { type: "string", pattern: "^\\+1" } },
  };
  expect(paths(schema, { name: "Ann" })).toEqual(["payload.customer_mobile_number"]);
  expect(paths(schema, { name: "Ann", customer_mobile_number: "+442079460958" })).toEqual([
    "payload.customer_mobile_number",
  ]);
});

test("the payload is not changed: no coercion, no defaults", () => {
  const payload = Object.freeze({ n: "1" });
  expect(paths({ properties: { n: { type: "integer" }, d: { default: 5 } } }, payload)).toEqual(["payload.n"]);
  expect(payload).toEqual({ n: "1" });
});

test.each<[string, Record<string, unknown>, unknown]>([
  [
    "a pattern that backtracks, saved before such were refused",
    { properties: { a: { pattern: "^(?=a)(a+)+$" } } },
    { a: `${"a".repeat(40)}b` },
  ],
  [
    "references that multiply",
    {
      $ref: "#/$defs/n0",
      $defs: Object.fromEntries(
        Array.from({ length: 30 }, (_, i) => [
          `n${i}`,
          i === 29 ? { type: "string" } : { anyOf: [{ $ref: `#/$defs/n${i + 1}` }, { $ref: `#/$defs/n${i + 1}` }] },
        ]),
      ),
    },
    {},
  ],
  ["endless recursion", { allOf: [{ $ref: "#/$defs/a" }], $defs: { a: { allOf: [{ $ref: "#/$defs/a" }] } } }, {}],
])("%s ends in a fault, soon", (_what, schema, payload) => {
  const check = payloadCheck(schema);
  const began = cpuUsedMs();
  expect(check(payload)).toEqual([
    { path: "payload", message: expect.stringContaining("against the template's schema") },
  ]);
  expect(cpuUsedMs() - began).toBeLessThan(1500);
  expect(payloadCheck(closed)({ name: "Ann" })).toEqual([]);
});

test("a pattern that would backtrack for ever is judged in linear time", () => {
  const check = payloadCheck({ properties: { a: { pattern: "^(a+)+$" } } });
  expect(check({ a: `${"a".repeat(40_000)}b` })).toEqual([
    { path: "payload.a", message: expect.stringContaining("must match pattern") },
  ]);
  expect(check({ a: "aaa" })).toEqual([]);
});
