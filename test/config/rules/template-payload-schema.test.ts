import { templateIssues } from "../../../services/config/rules/template-validation.ts";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";
import { paths, template } from "../fixtures/template-drafts.ts";

const FAULTS: [string, TemplateInput, string[]][] = [
  ["payload_schema of a wrong type", template({ payload_schema: { type: "string" } }), ["payload_schema.type"]],
  [
    "payload_schema that is none",
    template({ payload_schema: { type: "object", required: "a" } }),
    ["payload_schema.required"],
  ],
  [
    "payload_schema of an older draft",
    template({ payload_schema: { $schema: "http://json-schema.org/draft-07/schema#" } }),
    ["payload_schema.$schema"],
  ],
  [
    "payload_schema pointing elsewhere",
    template({ payload_schema: { properties: { a: { $ref: "https://example.com/s.json" } } } }),
    ["payload_schema.properties.a.$ref"],
  ],
  [
    "payload_schema pointing at nothing",
    template({ payload_schema: { properties: { a: { $ref: "#/$defs/none" } } } }),
    ["payload_schema"],
  ],
  [
    "payload_schema going round in circles",
    template({ payload_schema: { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } } }),
    ["payload_schema"],
  ],
  [
    "payload_schema too large",
    template({ payload_schema: { description: "x".repeat(65 * 1024) } }),
    ["payload_schema"],
  ],
  [
    "payload_schema too deep",
    template({
      payload_schema: Array.from({ length: 40 }).reduce<Record<string, unknown>>((inner) => ({ not: inner }), {}),
    }),
    ["payload_schema"],
  ],
];

test.each(FAULTS)("finds %s", (_what, t, expected) => {
  expect(paths(t)).toEqual(expected);
});

const FINE: [string, TemplateInput][] = [
  [
    "a schema with definitions",
    template({
      payload_schema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        $id: "https://example.com/a",
        type: "object",
        $defs: { d: { type: "string", format: "date" } },
        properties: { day: { $ref: "#/$defs/d" } },
      },
    }),
  ],
];

test.each(FINE)("takes %s", (_what, t) => {
  expect(templateIssues(t)).toEqual([]);
});

test("the same $id in two templates is no conflict", () => {
  const schema = (type: string): TemplateInput =>
    template({
      payload_schema: {
        $id: "https://example.com/same",
        $ref: "#/$defs/d",
        $defs: { d: { $id: "https://example.com/inner", type } },
      },
    });
  expect(templateIssues(schema("object"))).toEqual([]);
  expect(templateIssues(schema("object"))).toEqual([]);
});
