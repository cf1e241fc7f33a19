import { type Effect, type DialogueEvent } from "../../../services/conversation/dialogue/dialogue-state.ts";
import { conversationFacts } from "../../../services/conversation/dialogue/conversation-facts.ts";
import { answer, call, failure, heard, play, started, testFlow } from "../../fixtures/flow-template.ts";

const flow = testFlow();
const types = (effects: Effect[]) => effects.map((e) => e.type);
const ofType = <T extends Effect["type"]>(effects: Effect[], type: T) =>
  effects.find((e): e is Extract<Effect, { type: T }> => e.type === type);
const OPENED: Parameters<typeof play>[1] = [started, answer("Ada, do you confirm order A-17?")];
const lines = (s: ReturnType<typeof play>["state"]) =>
  conversationFacts(s).transcription.map((l) => `${l.role}: ${l.content}`);

describe("interruptions", () => {
  test("history and transcript keep exactly what was heard", () => {
    const { state, last } = play(flow, [
      started,
      answer("Ada, do you confirm order A-17 for Monday?"),
      { type: "interrupted", spoken: "Ada, do you confirm" },
      heard("What?"),
    ]);
    expect(lines(state)).toEqual([
      "assistant: Good day from Northwind.",
      "assistant: Ada, do you confirm",
      "user: What?",
    ]);
    expect(ofType(last, "think")!.messages.slice(2)).toEqual([
      { role: "assistant", content: "Good day from Northwind." },
      { role: "assistant", content: "Ada, do you confirm" },
      { role: "user", content: "What?" },
    ]);
  });
  test("in the middle of a generation: its words so far are cut too, and its answer is stale", () => {
    const { state, effects } = play(flow, [
      started,
      { type: "interrupted", spoken: "Ada, do", said: "Ada, do you confirm ord" },
      (s) => ({ type: "model_answered", turn: s.turn - 1, text: "Ada, do you confirm order A-17?", calls: [] }),
    ]);
    expect(effects.slice(1)).toEqual([[], []]);
    expect(lines(state)).toEqual(["assistant: Good day from Northwind.", "assistant: Ada, do"]);
    expect(state.mode).toBe("listening");
  });
  test("in the greeting: what came after it was not heard", () => {
    const { state } = play(flow, [started, { type: "interrupted", spoken: "Good day", said: "Ada, do you" }]);
    expect(lines(state)).toEqual(["assistant: Good day"]);
  });
  test("before a word was heard: nothing of it is kept", () => {
    const { state } = play(flow, [started, { type: "interrupted", spoken: "" }]);
    expect(lines(state)).toEqual([]);
    expect(state.history).toEqual([]);
  });
  test("what the customer answered to is never cut", () => {
    const { state } = play(flow, [
      ...OPENED,
      heard("Yes."),
      answer("Fine, Ada."),
      { type: "interrupted", spoken: "Fine" },
    ]);
    expect(lines(state)).toEqual([
      "assistant: Good day from Northwind.",
      "assistant: Ada, do you confirm order A-17?",
      "user: Yes.",
      "assistant: Fine",
    ]);
  });
  test("a call stays in the history when the words beside it were cut", () => {
    const { state } = play(flow, [
      ...OPENED,
      heard("Hm."),
      answer("I will note that.", [call("note", { text: "x" })]),
      { type: "interrupted", spoken: "" },
    ]);
    expect(state.history.at(-2)).toMatchObject({ role: "assistant", content: null, tool_calls: [{ id: "c_note" }] });
  });
  test("speech over words that are on their way, without an interruption, is attended to after them", () => {
    const { effects, state } = play(flow, [started, heard("Hello?", "Ada, do you"), answer("Ada, do you confirm?")]);
    expect(effects[1]).toEqual([]);
    expect(types(effects[2]!)).toEqual(["think"]);
    expect(lines(state).slice(1)).toEqual(["assistant: Ada, do you confirm?", "user: Hello?"]);
  });
  test("speech before the first word begins the generation anew", () => {
    const { last, state } = play(flow, [started, heard("Hello?")]);
    expect(types(last)).toEqual(["think"]);
    expect(state.turn).toBe(2);
  });
});

describe("silence, length, machines, faults", () => {
  test("two reprompts, then the goodbye", () => {
    const idle: DialogueEvent = { type: "idle" };
    const { effects, state } = play(flow, [...OPENED, idle, idle, idle]);
    expect(effects.slice(2).map(types)).toEqual([["say"], ["say"], ["end"]]);
    expect(conversationFacts(state)).toMatchObject({
      ended_by: "timeout",
      idle_out: true,
      user_turns: 0,
      decided: null,
    });
    expect(types(play(flow, [...OPENED, idle, idle, heard("Yes?"), answer("Well?"), idle]).last)).toEqual(["say"]);
  });
  test("silence counts only while the customer is waited for", () =>
    expect(play(flow, [started, { type: "idle" }]).last).toEqual([]));
  test("the maximal length ends it with a short goodbye, keeping what was being said", () => {
    const { last, state } = play(flow, [started, { type: "time_up", said: "Ada, do" }]);
    expect(last).toEqual([
      {
        type: "end",
        ended_by: "timeout",
        goodbye: "I am sorry, I have to end the call now. Goodbye!",
        at_once: false,
        transferred: false,
      },
    ]);
    expect(conversationFacts(state)).toMatchObject({ time_limit: true, ended_by: "timeout" });
    expect(lines(state)[1]).toBe("assistant: Ada, do");
  });
  test.each([
    ["machine", { type: "machine" }, { ended_by: "agent", machine: true }, { at_once: true, goodbye: null }],
    ["hang-up", { type: "stopped", reason: "hung_up" }, { ended_by: "customer" }, { at_once: true, goodbye: null }],
    [
      "the carrier's end",
      { type: "stopped", reason: "carrier_ended" },
      { ended_by: "customer" },
      { at_once: true, goodbye: null },
    ],
    ["the window closing", { type: "stopped", reason: "window_closed" }, { ended_by: "agent" }, { at_once: false }],
    [
      "a shutdown",
      { type: "stopped", reason: "shutdown" },
      { ended_by: "error", errors: [{ code: "SHUTDOWN", node: "ask" }] },
      { at_once: false },
    ],
    ["a lost lease", { type: "stopped", reason: "lease_lost" }, { ended_by: "error" }, { at_once: true }],
  ] as [string, DialogueEvent, object, object][])("%s", (_name, event, facts, end) => {
    const { last, state } = play(flow, [...OPENED, event]);
    expect(ofType(last, "end")).toMatchObject(end);
    expect(conversationFacts(state)).toMatchObject(facts);
  });
  test("a model that fails: an apology once, a goodbye when it happens again", () => {
    const once = play(flow, [...OPENED, heard("Yes."), failure()]);
    expect(types(once.last)).toEqual(["note_error", "say"]);
    const twice = play(flow, [...OPENED, heard("Yes."), failure(), heard("Yes!"), failure()]);
    expect(ofType(twice.last, "end")).toMatchObject({
      ended_by: "error",
      goodbye: "I am sorry, something went wrong on our side. Goodbye!",
    });
    expect(
      types(
        play(flow, [...OPENED, heard("Yes."), failure(), heard("Yes!"), answer("Ah."), heard("What?"), failure()]).last,
      ),
    ).toEqual(["note_error", "say"]);
  });
  test("words said before it failed stay said", () =>
    expect(lines(play(flow, [started, failure("MODEL_ERROR", "Ada, do you")]).state)).toContain(
      "assistant: Ada, do you",
    ));
  test("a conversation that has not ended is reported as cut off", () =>
    expect(conversationFacts(play(flow, OPENED).state).ended_by).toBe("error"));
  test("after the end nothing happens, but an interrupted goodbye is corrected", () => {
    const { effects, state } = play(flow, [
      ...OPENED,
      { type: "time_up" },
      heard("But"),
      { type: "idle" },
      { type: "stopped", reason: "hung_up" },
      { type: "interrupted", spoken: "I am sorry, I" },
    ]);
    expect(effects.slice(3)).toEqual([[], [], [], []]);
    expect(state.ended_by).toBe("timeout");
    expect(lines(state).at(-1)).toBe("assistant: I am sorry, I");
  });
  test("the service's own sentences follow the language", () => {
    const { last } = play(testFlow({ language: "de-DE" }), [...OPENED, { type: "idle" }]);
    expect(ofType(last, "say")?.text).toBe("Sind Sie noch da?");
    expect(ofType(play(testFlow({ language: "xx" }), [...OPENED, { type: "idle" }]).last, "say")?.text).toBe(
      "Are you still there?",
    );
  });
});
