import * as fc from "fast-check";
import { sampleTemplates } from "../../../local/tools/sample/templates.ts";
import { templateIssues } from "../../../services/config/rules/template-validation.ts";
import type { FlowFunction, FlowNode, TemplateInput } from "../../../shared/contracts/records/template.ts";

const fn = (over: Partial<FlowFunction> & { name: string }): FlowFunction => ({
  description: "what it is for",
  ...over,
});
const node = (over: Partial<FlowNode> & { name: string }): FlowNode => ({ say: "Hello.", ...over });
const template = (over: Partial<TemplateInput> = {}): TemplateInput => ({
  reseller_id: "rs",
  name: "t",
  initial_node: "a",
  nodes: [node({ name: "a" })],
  ...over,
});
const paths = (t: TemplateInput): string[] => templateIssues(t).map((f) => f.path);
/** A template of one node with one function. */
const withFunction = (f: Partial<FlowFunction>, over: Partial<TemplateInput> = {}): TemplateInput =>
  template({ nodes: [node({ name: "a", functions: [fn({ name: "f", ...f })] })], ...over });

test.each(sampleTemplates.map((t) => [t.name, t] as const))("the sample %s has no fault", (_name, sample) => {
  expect(templateIssues({ reseller_id: "rs", ...structuredClone(sample) } as unknown as TemplateInput)).toEqual([]);
});

test("the smallest template has no fault", () => {
  expect(templateIssues(template())).toEqual([]);
});

const FAULTS: [string, TemplateInput, string[]][] = [
  ["initial node unknown", template({ initial_node: "z" }), ["initial_node"]],
  ["two nodes of one name", template({ nodes: [node({ name: "a" }), node({ name: "a" })] }), ["nodes.1.name"]],
  ["node that nobody leads to", template({ nodes: [node({ name: "a" }), node({ name: "b" })] }), ["nodes.1.name"]],
  [
    "nodes that only lead to each other",
    template({
      nodes: [
        node({ name: "a" }),
        node({ name: "b", functions: [fn({ name: "f", next_node: "c" })] }),
        node({ name: "c", functions: [fn({ name: "g", next_node: "b" })] }),
      ],
    }),
    ["nodes.1.name", "nodes.2.name"],
  ],
  ["next_node unknown", withFunction({ next_node: "z" }), ["nodes.0.functions.0.next_node"]],
  [
    "a global's next_node unknown",
    template({ global_functions: [fn({ name: "f", next_node: "z" })] }),
    ["global_functions.0.next_node"],
  ],
  ["neither say nor prompt", template({ nodes: [{ name: "a" }] }), ["nodes.0"]],
  [
    "two functions of one name in a node",
    template({
      nodes: [node({ name: "a", functions: [fn({ name: "f", outcome: "x" }), fn({ name: "f", outcome: "y" })] })],
    }),
    ["nodes.0.functions.1.name"],
  ],
  [
    "a node's function named like a global one",
    withFunction({ outcome: "x" }, { global_functions: [fn({ name: "f", outcome: "y" })] }),
    ["nodes.0.functions.0.name"],
  ],
  [
    "two globals of one name",
    template({ global_functions: [fn({ name: "f", outcome: "x" }), fn({ name: "f", outcome: "y" })] }),
    ["global_functions.1.name"],
  ],
  ["a function that does nothing", withFunction({}), ["nodes.0.functions.0"]],
  ["a function whose action is none", withFunction({ action: "none", set: {} }), ["nodes.0.functions.0"]],
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
    ["nodes.0.functions.0.parameters"],
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
  ["an unknown variable in say", template({ nodes: [node({ name: "a", say: "Hi {{who}}" })] }), ["nodes.0.say"]],
  [
    "an unknown variable in prompt and role_prompt",
    template({ nodes: [{ name: "a", prompt: "{{x}}", role_prompt: "{{ y }}" }] }),
    ["nodes.0.prompt", "nodes.0.role_prompt"],
  ],
  ["an unknown variable in the greeting, used twice", template({ greeting: "{{who}} {{who}}" }), ["greeting"]],
  [
    "an unknown variable in the message for machines",
    template({ voicemail_message: "Hello {{who}}" }),
    ["voicemail_message"],
  ],
  [
    "an unknown variable in on_enter",
    template({ nodes: [node({ name: "a", on_enter: [{ type: "set", variable: "x", value: "{{y}}" }] })] }),
    ["nodes.0.on_enter.0.value"],
  ],
  [
    "braces that are no variable",
    template({ nodes: [node({ name: "a", say: "Hi {{first-name}} {{" })] }),
    ["nodes.0.say"],
  ],
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
  [
    "two evaluators of one name",
    template({
      evaluators: [
        { name: "polite", question: "Was it?" },
        { name: "goal", question: "Reached?" },
        { name: "polite", question: "Again?" },
      ],
    }),
    ["evaluators.2.name"],
  ],
  [
    "a scale that is none",
    template({
      evaluators: [
        { name: "polite", question: "Was it?", scale: { min: 5, max: 5 } },
        { name: "goal", question: "Reached?", scale: { min: 1, max: 0 } },
      ],
    }),
    ["evaluators.0.scale.max", "evaluators.1.scale.max"],
  ],
  ["no language tag", template({ language: "english!" }), ["language"]],
  [
    "far too large",
    template({ nodes: Array.from({ length: 40 }, (_, i) => node({ name: `n${i}`, say: "x".repeat(7000) })) }),
    [""],
  ],
];

test.each(FAULTS)("finds %s", (_what, t, expected) => {
  expect(paths(t)).toEqual(expected);
});

test("tells every fault at once", () => {
  const t = template({
    initial_node: "start",
    greeting: "Hi {{nobody}}",
    language: "??",
    nodes: [
      { name: "start" },
      node({ name: "lost" }),
      node({ name: "start", functions: [fn({ name: "f" }), fn({ name: "f", next_node: "z" })] }),
    ],
  });
  expect(paths(t).sort()).toEqual([
    "greeting",
    "language",
    "nodes.0",
    "nodes.1.name",
    "nodes.2.functions.0",
    "nodes.2.functions.1.name",
    "nodes.2.functions.1.next_node",
    "nodes.2.name",
  ]);
});

const FINE: [string, TemplateInput][] = [
  [
    "variables from the schema, declared, set by a function, set on entering, and the number itself",
    template({
      payload_schema: { properties: { first: { type: "string" } } },
      variables: ["second"],
      greeting: "{{first}} {{ second }} {{third}} {{fourth}} {{customer_mobile_number}}",
      nodes: [
        node({
          name: "a",
          on_enter: [{ type: "set", variable: "fourth", value: "x" }],
          functions: [fn({ name: "f", set: { third: "t" }, parameters: { type: "object", properties: { t: {} } } })],
        }),
      ],
    }),
  ],
  [
    "a node that only a global function leads to",
    template({
      nodes: [node({ name: "a" }), node({ name: "b" })],
      global_functions: [fn({ name: "f", next_node: "b" })],
    }),
  ],
  [
    "the same function name in two nodes",
    template({
      nodes: [
        node({ name: "a", functions: [fn({ name: "f", next_node: "b" })] }),
        node({ name: "b", functions: [fn({ name: "f", next_node: "a" })] }),
      ],
    }),
  ],
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

test("any road of nodes: what can't be reached is exactly what is told", () => {
  const graph = fc.array(fc.array(fc.nat({ max: 7 }), { maxLength: 3 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(graph, (edges) => {
      const size = edges.length;
      const to = edges.map((targets) => targets.map((t) => t % size));
      const t = template({
        initial_node: "n0",
        nodes: to.map((targets, i) =>
          node({
            name: `n${i}`,
            functions: targets.map((target, j) => fn({ name: `f${j}`, next_node: `n${target}` })),
          }),
        ),
      });
      let reached = new Set([0]);
      for (let i = 0; i < size; i++) reached = new Set([...reached, ...[...reached].flatMap((r) => to[r]!)]);
      const unreached = to.flatMap((_, i) => (reached.has(i) ? [] : [`nodes.${i}.name`]));
      expect(paths(t)).toEqual(unreached);
    }),
  );
});

test("a hostile text costs no time", () => {
  const faults = templateIssues(
    template({ nodes: [node({ name: "a", say: "{{ ".repeat(600), prompt: `{{${" ".repeat(7000)}` })] }),
  );
  expect(faults.map((f) => f.path)).toEqual(["nodes.0.say", "nodes.0.prompt"]);
});
