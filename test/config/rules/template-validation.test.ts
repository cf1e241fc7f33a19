import { sampleTemplates } from "../../../local/tools/sample/templates.ts";
import { templateIssues } from "../../../services/config/rules/template-validation.ts";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";
import { fn, node, paths, template, withFunction } from "../fixtures/template-drafts.ts";

test.each(sampleTemplates.map((t) => [t.name, t] as const))("the sample %s has no fault", (_name, sample) => {
  expect(templateIssues({ reseller_id: "rs", ...structuredClone(sample) } as unknown as TemplateInput)).toEqual([]);
});

test("the smallest template has no fault", () => {
  expect(templateIssues(template())).toEqual([]);
});

const FAULTS: [string, TemplateInput, string[]][] = [
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
  ...["english!", "english", "xx-YY", "und", "en-ZZZ", "en-XY", "en_US", "zxx"].map(
    (language): [string, TemplateInput, string[]] => [`no language: ${language}`, template({ language }), ["language"]],
  ),
  ...["en", "en-US", "pt-BR", "zh-Hant-TW", "es-419", "ca-valencia", "de-CH-1996", "hi"].map(
    (language): [string, TemplateInput, string[]] => [`a language: ${language}`, template({ language }), []],
  ),
  [
    "variables where a rule compares to the letter",
    template({
      variables: ["said", "born"],
      nodes: [
        {
          name: "a",
          say: "Hello.",
          on_enter: [{ type: "end_call" }],
          transitions: [
            { when: { variable: "said", equals: "{{born}}" }, outcome: "same" },
            { when: { variable: "said", one_of: ["no", "{{ born }}"] }, outcome: "same" },
          ],
        },
      ],
    }),
    ["nodes.0.transitions.0.when.equals", "nodes.0.transitions.1.when.one_of.1"],
  ],
  [
    "variables in what the model is told of a function",
    withFunction({ outcome: "x", description: "For {{name}}." }, { variables: ["name"] }),
    ["nodes.0.functions.0.description"],
  ],
  [
    "variables in a question about the finished conversation",
    template({ variables: ["name"], evaluators: [{ name: "good", question: "Was {{name}} content?" }] }),
    ["evaluators.0.question"],
  ],
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
