import formats from "ajv-formats";
import { Ajv2020 } from "ajv/dist/2020.js";
import { checkOf, isUrl, schemaIssues } from "../../../shared/schemas/client-schema.ts";
import { weightOf } from "../../../shared/schemas/schema-weight.ts";

const TOO_LONG = [{ path: "", message: expect.stringContaining("takes too long") }];

test("a pattern of a schema that has no linear time is refused at its path", () => {
  const schema = { properties: { a: { type: "string", pattern: "(?=a)b" } }, patternProperties: { "(.)\\1": {} } };
  expect(schemaIssues(schema, "payload_schema").map((i) => i.path)).toEqual([
    "payload_schema.properties.a.pattern",
    "payload_schema.patternProperties",
  ]);
});

test("a schema with very many faults ends in a fault, or in a hundred", () => {
  const check = checkOf({
    properties: { a: { type: "array", items: { anyOf: Array.from({ length: 500 }, (_, i) => ({ const: i + 1 })) } } },
  });
  expect(check({ a: Array.from({ length: 4000 }, () => 0) }).length).toBeLessThanOrEqual(100);
  expect(check({ a: [] }, 0)).toEqual(TOO_LONG);
});

test("a schema with faults without number is given up in its time", () => {
  expect(schemaIssues({ allOf: Array.from({ length: 20_000 }, () => 1) }, "p", 100)).toEqual([
    { path: "p", message: "takes too long to compile; make it simpler" },
  ]);
});

test("at most 100 faults of a value are told", () => {
  const check = checkOf({ properties: { a: { items: { type: "string" } } } });
  expect(check({ a: Array.from({ length: 500 }, () => 0) })).toHaveLength(100);
});

test("a pattern that was saved before keeps its meaning, within its time", () => {
  const check = checkOf({ properties: { a: { type: "string", pattern: "^(?=.*[0-9])[a-z0-9]+$" } } });
  expect([check({ a: "abc1" }), check({ a: "abc" }).map((i) => i.path)]).toEqual([[], ["a"]]);
  const evil = checkOf({ properties: { a: { type: "string", pattern: "^(?=a)(a+)+$" } } });
  expect(evil({ a: `${"a".repeat(40)}b` })).toEqual(TOO_LONG);
});

const ajv = new Ajv2020();
formats.default(ajv);
const own = ajv.compile({ type: "string", format: "url" });

test.each([
  "http://a.example", "https://user@a.example/x", "https://u:p@a.example:8080", "http://u:@a.example", "http://:p@a.example", "http://@a.example", "ftp://a@b@c.example", "http://10.0.0.1",
  "http://8.8.8.8/x", "http://a", "http://a.example/a b", "a.example", "http://a.example/@b", "http://a b@c.example", "http://-a.example", "http://a-b.example:1", "http://é.example",
])("%s is a URL where ajv's format says so", (text) => {
  expect(isUrl(text)).toBe(own(text));
}); // prettier-ignore

test("a schema's weight counts all of its parts, and has no bound where one could be reached twice", () => {
  const one = { allOf: [{ type: "string" }] };
  expect(weightOf({ allOf: [one, one] }, 1000)).toBeGreaterThan(2 * weightOf(one, 1000));
  for (const unbounded of [
    { properties: { a: { $ref: "#" } } },
    { pattern: "(?=a)" },
    { uniqueItems: true },
    { format: "regex" },
    { patternProperties: { a: {} } },
  ])
    expect(weightOf(unbounded, 1000)).toBe(Infinity);
  expect(weightOf({ additionalProperties: false }, 1000)).toBeLessThan(10);
});
