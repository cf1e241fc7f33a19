import { templateIssues } from "../../../services/config/rules/template-validation.ts";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";
import { fn, node, paths, template } from "../fixtures/template-drafts.ts";

const FAULTS: [string, TemplateInput, string[]][] = [
  ["an unknown variable in say", template({ nodes: [node({ name: "a", say: "Hi {{who}}" })] }), ["nodes.0.say"]],
  [
    "an unknown variable in prompt and role_prompt",
    template({ nodes: [{ ...node({ name: "a" }), prompt: "{{x}}", role_prompt: "{{ y }}" }] }),
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
    template({
      nodes: [node({ name: "a", on_enter: [{ type: "end_call" }, { type: "set", variable: "x", value: "{{y}}" }] })],
    }),
    ["nodes.0.on_enter.1.value"],
  ],
  [
    "braces that are no variable",
    template({ nodes: [node({ name: "a", say: "Hi {{first-name}} {{" })] }),
    ["nodes.0.say"],
  ],
];

test.each(FAULTS)("finds %s", (_what, t, expected) => {
  expect(paths(t)).toEqual(expected);
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
          on_enter: [{ type: "set", variable: "fourth", value: "x" }, { type: "end_call" }],
          functions: [fn({ name: "f", set: { third: "t" }, parameters: { type: "object", properties: { t: {} } } })],
        }),
      ],
    }),
  ],
];

test.each(FINE)("takes %s", (_what, t) => {
  expect(templateIssues(t)).toEqual([]);
});

test("a hostile text costs no time", () => {
  const faults = templateIssues(
    template({ nodes: [node({ name: "a", say: "{{ ".repeat(600), prompt: `{{${" ".repeat(7000)}` })] }),
  );
  expect(faults.map((f) => f.path)).toEqual(["nodes.0.say", "nodes.0.prompt"]);
});
