import { step } from "../../../services/conversation/dialogue/dialogue-manager.ts";
import {
  newDialogue,
  type DialogueEvent,
  type Effect,
} from "../../../services/conversation/dialogue/dialogue-state.ts";
import { conversationFacts } from "../../../services/conversation/dialogue/conversation-facts.ts";
import { answer, call, heard, play, started, testFlow } from "../../fixtures/flow-template.ts";

/** What the template says is said, and kept, as a voice reads it; the engines and carriers get these texts as they are. */

const payload = {
  customer: "😀 **Zoë**\u0000",
  shop: "<b>Northwind</b>",
  order: "<think>",
  list: "- [Coke](https://x.example)\n- Tea",
};

const run = (flow: ReturnType<typeof testFlow>, events: readonly DialogueEvent[]) => {
  let state = newDialogue(payload, "leave_message");
  const effects: Effect[] = [];
  for (const event of events) {
    const done = step(flow, state, event);
    state = done.state;
    effects.push(...done.effects);
  }
  return { state, effects, lines: conversationFacts(state).transcription.map(({ content }) => content) };
};
const said = (effects: readonly Effect[]): string[] =>
  effects.flatMap((e) => (e.type === "say" ? [e.text] : e.type === "await_beep" ? [e.message] : []));

test("greeting, fixed texts and the values in them are said and kept without markup, emoji and what is invisible", () => {
  const flow = testFlow({
    greeting: "Hello {{customer}} 👋, **this call** is recorded. {{order}}",
    nodes: [{ name: "first", say: "You ordered:\n{{list}}\nPress * to change, # to confirm." }],
    initial_node: "first",
  });
  const { effects, lines, state } = run(flow, [started]);
  expect(said(effects)).toEqual([
    "Hello Zoë, this call is recorded.",
    "You ordered: Coke Tea Press * to change, # to confirm.",
  ]);
  expect(lines).toEqual(said(effects));
  expect(JSON.stringify(state.history)).not.toMatch(/[😀<>]|\*\*/u);
});

test("a message on voicemail is cleaned, at the beep and where the carrier says it", () => {
  const flow = testFlow({ voicemail_message: "Hello {{customer}}, call _{{shop}}_ back. 📞" });
  const waiting = run(flow, [started, { type: "machine" }]);
  expect(said(waiting.effects).at(-1)).toBe("Hello Zoë, call Northwind back.");
  const { effects, lines } = run(flow, [started, { type: "machine" }, { type: "beep" }]);
  expect(effects.at(-1)).toMatchObject({ type: "end", goodbye: "Hello Zoë, call Northwind back." });
  expect(lines.at(-1)).toBe("Hello Zoë, call Northwind back.");
});

test("what the client of a session has spoken is cleaned", () => {
  const flow = { ...testFlow(), client_led: true };
  const { effects, lines } = run(flow, [
    started,
    { type: "speak", text: "**Hi** <think>x</think>there 🙂", voice: null },
  ]);
  expect(said(effects)).toEqual(["Hi there"]);
  expect(lines).toEqual(["Hi there"]);
});

test("of a model's answer history and transcript keep what a voice says of it, whatever engine reports it", () => {
  const { state, last } = play(testFlow(), [
    started,
    answer("<thinking>Do not tell.</thinking>**Ada**, [confirm](https://x.example)? 🙂"),
    heard("What?"),
  ]);
  expect(conversationFacts(state).transcription.map(({ content }) => content)).toContain("Ada, confirm?");
  const asked = last.flatMap((e) => (e.type === "think" ? e.messages.slice(2) : []));
  expect(asked.map(({ content }) => content)).toEqual(["Good day from Northwind.", "Ada, confirm?", "What?"]);
});

test("what was heard of an answer is found in it, with the markup of a realtime model or without", () => {
  for (const spoken of ["**Ada**, do you", "Ada, do you"]) {
    const { state } = play(testFlow(), [
      started,
      answer("**Ada**, do you _confirm_?"),
      { type: "interrupted", spoken },
      heard("What?"),
    ]);
    expect(conversationFacts(state).transcription.map(({ content }) => content)).toContain("Ada, do you");
  }
});

test("words beside a function call are cleaned", () => {
  const { state } = play(testFlow(), [started, answer("`Fine` 🙂", [call("confirm", {})])]);
  expect(conversationFacts(state).transcription.map(({ content }) => content)).toContain("Fine");
});
