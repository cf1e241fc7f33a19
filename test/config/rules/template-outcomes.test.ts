import { templateIssues } from "../../../services/config/rules/template-validation.ts";
import { OUTCOME_WORDS } from "../../../shared/contracts/records/attempt.ts";
import { fn, node, paths, template, withFunction } from "../fixtures/template-drafts.ts";

test.each(OUTCOME_WORDS)("a function can't decide %s, a word of the service's own", (word) => {
  expect(templateIssues(withFunction({ outcome: word, action: "end_call" }))).toEqual([
    { path: "nodes.0.functions.0.outcome", message: expect.stringContaining(`${word} is one of the service's own`) },
  ]);
});

test("nor can a global function, a rule or an action", () => {
  const t = template({
    global_functions: [fn({ name: "leave", action: "end_call", outcome: "voicemail" })],
    nodes: [
      node({
        name: "a",
        on_enter: [{ type: "outcome", outcome: "failed" }],
        on_exit: [
          { type: "set", variable: "x", value: "busy" },
          { type: "outcome", outcome: "ABORTED" },
        ],
        transitions: [{ when: { digits: "1" }, outcome: "no_answer", next_node: "a" }],
      }),
    ],
  });
  expect(paths(t)).toEqual([
    "global_functions.0.outcome",
    "nodes.0.transitions.0.outcome",
    "nodes.0.on_enter.0.outcome",
    "nodes.0.on_exit.1.outcome",
  ]);
});

test.each(["confirmed", "payment_failed", "customer_busy", "expired", "transferred"])("%s may be decided", (word) => {
  expect(paths(withFunction({ outcome: word, action: "end_call" }))).toEqual([]);
});
