import * as fc from "fast-check";
import { templateIssues, templateWarnings } from "../../../services/config/rules/template-validation.ts";
import type { FlowNode } from "../../../shared/contracts/flow/flow-node.ts";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";
import { fn, node, paths, template } from "../fixtures/template-drafts.ts";

const open = (over: Partial<FlowNode> & { name: string }): FlowNode => node({ on_enter: [], ...over });
const end = node({ name: "end" });
const leave = fn({ name: "leave", action: "end_call" });

const CAUGHT: [string, TemplateInput, string[]][] = [
  ["a say without a way on", template({ nodes: [open({ name: "a" })] }), ["nodes.0"]],
  [
    "the example that the documentation had: end_call in on_exit of a node that is never left",
    template({
      nodes: [
        { name: "a", prompt: "Ask.", functions: [fn({ name: "yes", next_node: "bye" })] },
        { name: "bye", say: "Goodbye.", on_exit: [{ type: "end_call" }] },
      ],
    }),
    ["nodes.1"],
  ],
  ["a prompt without a way on", template({ nodes: [{ name: "a", prompt: "Talk." }] }), ["nodes.0"]],
  [
    "a function that only stores",
    template({
      variables: ["x"],
      nodes: [{ name: "a", prompt: "Talk.", functions: [fn({ name: "f", outcome: "x" })] }],
    }),
    ["nodes.0"],
  ],
  [
    "two nodes that only lead to each other",
    template({
      nodes: [
        open({ name: "a", functions: [fn({ name: "f", next_node: "b" })] }),
        open({ name: "b", transitions: [{ next_node: "a" }] }),
      ],
    }),
    ["nodes.0", "nodes.1"],
  ],
  [
    "rules that go round, past functions that are never offered",
    template({ nodes: [open({ name: "a", transitions: [{ next_node: "a" }], functions: [leave] })] }),
    ["nodes.0"],
  ],
  [
    "one way of several that leads to a dead end: the dead end alone is named",
    template({
      nodes: [
        open({ name: "a", functions: [fn({ name: "f", next_node: "b" }), fn({ name: "g", next_node: "end" })] }),
        open({ name: "b", transitions: [{ next_node: "c" }] }),
        open({ name: "c" }),
        end,
      ],
    }),
    ["nodes.2"],
  ],
  [
    "a dead end that a global function leads to",
    template({
      nodes: [node({ name: "a" }), open({ name: "b", transitions: [{ when: { digits: "1" }, next_node: "b" }] })],
      global_functions: [fn({ name: "f", next_node: "b" })],
    }),
    ["nodes.1"],
  ],
];

test.each(CAUGHT)("refuses %s", (_what, t, expected) => {
  expect(paths(t)).toEqual(expected);
  const names = expected.map((path) => t.nodes[Number(path.split(".")[1])]?.name ?? "?");
  expect(templateIssues(t).map((f, i) => f.message.includes(`${names[i]} `))).toEqual(names.map(() => true));
});

const FINE: [string, TemplateInput][] = [
  ["a function that ends the call", template({ nodes: [open({ name: "a", functions: [leave] })] })],
  [
    "a transfer",
    template({
      nodes: [open({ name: "a", functions: [fn({ name: "f", action: "transfer", transfer_to: "+14155550100" })] })],
    }),
  ],
  ["a global function that ends the call", template({ nodes: [open({ name: "a" })], global_functions: [leave] })],
  [
    "a rule that leads to the end",
    template({ nodes: [open({ name: "a", transitions: [{ when: { digits: "1" }, next_node: "end" }] }), end] }),
  ],
  [
    "end_call on leaving",
    template({
      nodes: [
        open({ name: "a", on_exit: [{ type: "end_call" }], transitions: [{ next_node: "b" }] }),
        open({ name: "b", transitions: [{ next_node: "a" }] }),
      ],
    }),
  ],
  [
    "a circle with one way out",
    template({
      nodes: [
        open({ name: "a", functions: [fn({ name: "f", next_node: "b" })] }),
        open({ name: "b", functions: [fn({ name: "g", next_node: "a" }), fn({ name: "h", next_node: "end" })] }),
        end,
      ],
    }),
  ],
];

test.each(FINE)("takes %s", (_what, t) => {
  expect(templateIssues(t)).toEqual([]);
  expect(templateWarnings(t)).toEqual([]);
});

test("a road to a node that does not exist is one issue, not two", () => {
  expect(paths(template({ nodes: [open({ name: "a", functions: [fn({ name: "f", next_node: "z" })] })] }))).toEqual([
    "nodes.0.functions.0.next_node",
  ]);
});

test("any road of nodes: it is refused exactly if some node that is reached can't come to an end", () => {
  const graph = fc.array(fc.record({ to: fc.array(fc.nat({ max: 7 }), { maxLength: 3 }), ends: fc.boolean() }), {
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(graph, (drawn) => {
      const to = drawn.map((d) => d.to.map((target) => target % drawn.length));
      const t = template({
        initial_node: "n0",
        nodes: drawn.map(({ ends }, i) =>
          node({
            name: `n${i}`,
            on_enter: ends ? [{ type: "end_call" }] : [],
            functions: (to[i] ?? []).map((target, j) => fn({ name: `f${j}`, next_node: `n${target}` })),
          }),
        ),
      });
      const from = (start: number): Set<number> => {
        let found = new Set([start]);
        for (let i = 0; i < drawn.length; i++) found = new Set([...found, ...[...found].flatMap((n) => to[n] ?? [])]);
        return found;
      };
      const caught = [...from(0)].filter((n) => ![...from(n)].some((m) => drawn[m]?.ends));
      const named = templateWarnings(t).map((w) => Number(w.path.split(".")[1]));
      expect(named.length > 0).toBe(caught.length > 0);
      expect(caught).toEqual(expect.arrayContaining(named));
    }),
  );
});
