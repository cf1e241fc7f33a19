import * as fc from "fast-check";
import { templateIssues } from "../../../services/config/rules/template-validation.ts";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";
import { fn, node, paths, template, withFunction } from "../fixtures/template-drafts.ts";

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
];

test.each(FAULTS)("finds %s", (_what, t, expected) => {
  expect(paths(t)).toEqual(expected);
});

const FINE: [string, TemplateInput][] = [
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
];

test.each(FINE)("takes %s", (_what, t) => {
  expect(templateIssues(t)).toEqual([]);
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
