import { step } from "../../../services/conversation/dialogue/dialogue-manager.ts";
import { newDialogue } from "../../../services/conversation/dialogue/dialogue-state.ts";
import type { FlowFunction } from "../../../shared/contracts/flow/flow-node.ts";
import { answer, call, heard, NODES, PAYLOAD, play, started, testFlow } from "../../fixtures/flow-template.ts";

const KEY = { type: "object", properties: { key: { type: "string" } } };
const functions: FlowFunction[] = [
  { name: "branch", description: "Choose sales.", action: "send_digits", digits: "2" },
  {
    name: "choose",
    description: "Choose from the menu.",
    action: "send_digits",
    digits: "{{picked}}",
    parameters: KEY,
    set: { picked: "key" },
  },
  {
    name: "identify",
    description: "Give the code.",
    action: "send_digits",
    digits: "{{pin}} #",
    next_node: "confirmed",
    outcome: "reached",
  },
];
const flow = testFlow({ nodes: NODES.map((n) => (n.name === "ask" ? { ...n, functions } : n)) });
const OPENED = [started, answer("Hello."), heard("Press 2 for sales.")];
const pressing = (name: string, args: unknown = {}, payload: Record<string, unknown> = PAYLOAD) =>
  play(flow, [...OPENED, answer("", [call(name, args)])], payload);

test("fixed keys are pressed, and the conversation goes on in its node", () => {
  const { last, state } = pressing("branch");
  expect(last.map((e) => e.type)).toEqual(["keys", "think"]);
  expect(last[0]).toEqual({ type: "keys", digits: "2" });
  expect(state.history.at(-1)).toMatchObject({ role: "tool", content: '{"ok":true}' });
});
test("keys the model chose, and keys of the lead's variables with what follows them", () => {
  expect(pressing("choose", { key: "1w1" }).last[0]).toEqual({ type: "keys", digits: "1w1" });
  const { last, state } = pressing("identify", {}, { ...PAYLOAD, pin: "4711" });
  expect(last.map((e) => e.type)).toEqual(["keys", "say", "end"]);
  expect(last[0]).toEqual({ type: "keys", digits: "4711#" });
  expect(state.decided).toBe("reached");
  expect(JSON.stringify(state.transcript) + JSON.stringify(state.history)).not.toContain("4711");
});
test.each([
  ["choose", { key: "five" }],
  ["choose", { key: "" }],
  ["choose", { key: "1".repeat(33) }],
  ["choose", {}],
])("%s with %j presses nothing; the model is told", (name, args) => {
  const { last, state } = pressing(name, args);
  expect(last.map((e) => e.type)).toEqual(["note_error", "think"]);
  expect(state.history.at(-1)?.content).toMatch(/the keys can't be pressed/);
});
test("nothing is pressed after the end", () =>
  expect(
    step(
      flow,
      { ...newDialogue({}), mode: "ended" },
      { type: "model_answered", turn: 0, text: "", calls: [call("branch")] },
    ).effects,
  ).toEqual([]));
