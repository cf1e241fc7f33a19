import { templateIssues } from "../../../services/config/rules/template-validation.ts";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";
import { fn, node, paths, template, withFunction } from "../fixtures/template-drafts.ts";

const FAULTS: [string, TemplateInput, string[]][] = [
  ["transfer without a target", withFunction({ action: "transfer" }), ["nodes.0.functions.0.transfer_to"]],
  [
    "transfer to no number",
    withFunction({ action: "transfer", transfer_to: "reception" }),
    ["nodes.0.functions.0.transfer_to"],
  ],
  [
    "transfer to a number in another spelling",
    withFunction({ action: "transfer", transfer_to: "+1 415 555 0100" }),
    ["nodes.0.functions.0.transfer_to"],
  ],
  [
    "transfer to an emergency number",
    withFunction({ action: "transfer", transfer_to: "+2710111" }),
    ["nodes.0.functions.0.transfer_to"],
  ],
  [
    "transfer to a short number",
    withFunction({ action: "transfer", transfer_to: "+49116117" }),
    ["nodes.0.functions.0.transfer_to"],
  ],
  [
    "transfer to a variable inside other text",
    withFunction({ action: "transfer", transfer_to: "+1{{desk}}" }, { variables: ["desk"] }),
    ["nodes.0.functions.0.transfer_to"],
  ],
  [
    "transfer to what the caller says",
    withFunction({
      action: "transfer",
      transfer_to: "{{where}}",
      set: { where: "n" },
      parameters: { type: "object", properties: { n: { type: "string" } } },
    }),
    ["nodes.0.functions.0.transfer_to"],
  ],
  [
    "transfer to an unknown variable",
    withFunction({ action: "transfer", transfer_to: "{{desk}}" }),
    ["nodes.0.functions.0.transfer_to"],
  ],
  ["keys without any", withFunction({ action: "send_digits" }), ["nodes.0.functions.0.digits"]],
  ["keys that are none", withFunction({ action: "send_digits", digits: "1-2" }), ["nodes.0.functions.0.digits"]],
  [
    "more keys than are pressed",
    withFunction({ action: "send_digits", digits: "1".repeat(33) }),
    ["nodes.0.functions.0.digits"],
  ],
  [
    "keys of an unknown variable",
    withFunction({ action: "send_digits", digits: "{{pin}}#" }),
    ["nodes.0.functions.0.digits"],
  ],
  ["http without a request", withFunction({ action: "http" }), ["nodes.0.functions.0.http"]],
  [
    "http to no address",
    withFunction({ action: "http", http: { method: "GET", url: "ftp://x/y" } }),
    ["nodes.0.functions.0.http.url"],
  ],
  [
    "http to a host from a variable",
    withFunction({ action: "http", http: { method: "GET", url: "https://{{host}}/y" } }, { variables: ["host"] }),
    ["nodes.0.functions.0.http.url"],
  ],
  [
    "http with an unknown variable deep in its body",
    withFunction(
      { action: "http", http: { method: "POST", url: "https://x.example/{{id}}", body: { a: [{ b: "{{nobody}}" }] } } },
      { variables: ["id"] },
    ),
    ["nodes.0.functions.0.http.body.a.0.b"],
  ],
  [
    "parameters of another type",
    withFunction({ outcome: "x", parameters: { type: "array" } }),
    ["nodes.0.functions.0.parameters.type"],
  ],
  [
    "parameters that are no schema",
    withFunction({ outcome: "x", parameters: { type: "object", properties: { a: { minimum: "x" } } } }),
    ["nodes.0.functions.0.parameters.properties.a.minimum"],
  ],
  [
    "parameters with a broken pattern",
    withFunction({ outcome: "x", parameters: { type: "object", properties: { a: { pattern: "(" } } } }),
    ["nodes.0.functions.0.parameters.properties.a.pattern"],
  ],
  [
    "set from an argument that is not there",
    withFunction({ set: { day: "when" }, parameters: { type: "object", properties: { what: {} } } }),
    ["nodes.0.functions.0.set.day"],
  ],
  ["set without parameters", withFunction({ set: { day: "when" } }), ["nodes.0.functions.0.set.day"]],
  [
    "set from an inherited name",
    withFunction({ set: { day: "toString" }, parameters: { type: "object", properties: {} } }),
    ["nodes.0.functions.0.set.day"],
  ],
];

test.each(FAULTS)("finds %s", (_what, t, expected) => {
  expect(paths(t)).toEqual(expected);
});

const FINE: [string, TemplateInput][] = [
  [
    "keys, fixed and of a variable, and a message for machines",
    template({
      variables: ["pin"],
      voicemail_message: "Your code is {{pin}}.",
      nodes: [
        node({
          name: "a",
          functions: [
            fn({ name: "f", action: "send_digits", digits: "1w2#" }),
            fn({ name: "g", action: "send_digits", digits: "{{ pin }} #" }),
          ],
        }),
      ],
    }),
  ],
  [
    "a transfer to a number, and to a payload variable",
    template({
      payload_schema: { properties: { desk: {} } },
      nodes: [
        node({
          name: "a",
          functions: [
            fn({ name: "f", action: "transfer", transfer_to: "+14155550100" }),
            fn({ name: "g", action: "transfer", transfer_to: "{{desk}}" }),
          ],
        }),
      ],
    }),
  ],
  [
    "http with variables in path and body",
    withFunction(
      { action: "http", http: { method: "POST", url: "https://x.example/a?id={{ id }}", body: { a: "{{id}}" } } },
      { variables: ["id"] },
    ),
  ],
];

test.each(FINE)("takes %s", (_what, t) => {
  expect(templateIssues(t)).toEqual([]);
});
