import { step } from "../../../services/conversation/dialogue/dialogue-manager.ts";
import { conversationFacts } from "../../../services/conversation/dialogue/conversation-facts.ts";
import { newDialogue, type DialogueEvent } from "../../../services/conversation/dialogue/dialogue-state.ts";
import { isRetried, outcomeOf } from "../../../services/leads/rules/outcomes.ts";
import { noFacts } from "../../../shared/contracts/records/attempt.ts";
import { answer, call, failure, heard, PAYLOAD, play, started, testFlow } from "../../fixtures/flow-template.ts";

const NEWS = "Your flight is cancelled, please do not come.";
const announcing = testFlow({
  greeting: null,
  global_functions: [],
  initial_node: "tell",
  nodes: [{ name: "tell", say: NEWS, on_enter: [{ type: "outcome", outcome: "informed" }, { type: "end_call" }] }],
});
const cut = (spoken: string): DialogueEvent => ({ type: "interrupted", spoken });
const hungUp: DialogueEvent = { type: "stopped", reason: "hung_up" };
const speechFails: DialogueEvent = { type: "stopped", reason: "speech_failed" };
const heardOut: DialogueEvent = { type: "played_out" };

/** How a conversation ends, as its lead tells. */
function endOf(flow: ReturnType<typeof testFlow>, script: Parameters<typeof play>[1]) {
  const facts = conversationFacts(play(flow, script).state);
  const attempt = {
    ...noFacts("completed"),
    answered_at: "2026-11-21T10:00:00.000Z",
    ended_at: "2026-11-21T10:01:00.000Z",
    talk: facts,
  };
  return {
    outcome: outcomeOf(attempt),
    retried: isRetried(attempt, null),
    by: facts.ended_by,
    errors: facts.errors.map(({ code }) => code),
    ours: facts.transcription.filter(({ role }) => role === "assistant").map(({ content }) => content),
  };
}

describe("an outcome that a node announces", () => {
  test("counts once its words were heard to their end", () => {
    expect(conversationFacts(play(announcing, [started]).state).decided).toBeNull();
    expect(endOf(announcing, [started, heardOut, hungUp])).toEqual({
      outcome: "informed",
      retried: false,
      by: "agent",
      errors: [],
      ours: [NEWS],
    });
  });
  test("does not count where speech fails before a word: the call failed, and is tried again", () =>
    expect(endOf(announcing, [started, cut(""), speechFails, heardOut, hungUp])).toEqual({
      outcome: "failed",
      retried: true,
      by: "error",
      errors: ["SPEECH_FAILED"],
      ours: [],
    }));
  test("does not count where speech breaks off: call_error, with what was heard", () =>
    expect(endOf(announcing, [started, cut("Your flight"), speechFails, hungUp])).toEqual({
      outcome: "call_error",
      retried: false,
      by: "error",
      errors: ["SPEECH_FAILED"],
      ours: ["Your flight"],
    }));
  test("does not count where they hang up on it: they ended the call, and were not told", () =>
    expect(endOf(announcing, [started, cut("Your"), hungUp])).toEqual({
      outcome: "customer_hangup",
      retried: false,
      by: "customer",
      errors: [],
      ours: ["Your"],
    }));
  test("counts where they hang up in its last second", () =>
    expect(endOf(announcing, [started, cut("Your flight is cancelled, please do not"), hungUp])).toMatchObject({
      outcome: "informed",
      by: "agent",
    }));
  test("does not count where the model has no words for it", () => {
    const flow = testFlow({
      greeting: null,
      global_functions: [],
      initial_node: "tell",
      nodes: [
        { name: "tell", prompt: "Tell.", on_enter: [{ type: "outcome", outcome: "informed" }, { type: "end_call" }] },
      ],
    });
    expect(endOf(flow, [started, failure(), heardOut])).toMatchObject({ outcome: "call_error", by: "error" });
    expect(endOf(flow, [started, { type: "time_up" }, heardOut])).toMatchObject({ outcome: "call_timeout" });
    expect(endOf(flow, [started, answer("Your flight is cancelled."), heardOut])).toMatchObject({
      outcome: "informed",
    });
  });
  test("that asks not to be called again needs no words of ours", () => {
    const flow = testFlow({
      greeting: null,
      global_functions: [],
      initial_node: "off",
      nodes: [
        { name: "off", say: "Done.", on_enter: [{ type: "outcome", outcome: "do_not_call" }, { type: "end_call" }] },
      ],
    });
    expect(play(flow, [started]).state).toMatchObject({ decided: "do_not_call", do_not_call: true });
  });
  test("counts when the conversation goes on after it", () => {
    const flow = testFlow({
      greeting: null,
      initial_node: "tell",
      nodes: [
        {
          name: "tell",
          say: NEWS,
          on_enter: [{ type: "outcome", outcome: "informed" }],
          transitions: [{ next_node: "ask" }],
        },
        { name: "ask", prompt: "Ask.", functions: [] },
      ],
      global_functions: [],
    });
    const { state } = play(flow, [started, answer("Any questions?"), heard("No.")]);
    expect(state.decided).toBe("informed");
    expect(play(flow, [started, answer("Any questions?"), cut("Your"), heard("What?")]).state.decided).toBeNull();
  });
});

describe("what they have decided", () => {
  const flow = testFlow();
  const confirmed = [started, answer("Ada, do you confirm?"), heard("Yes."), answer("", [call("confirm")])];
  test("stands where our last words fail, and the lead tells the error", () =>
    expect(endOf(flow, [...confirmed, cut("Thank"), speechFails])).toMatchObject({
      outcome: "confirmed",
      by: "error",
      errors: ["SPEECH_FAILED"],
    }));
  test("stands where they hang up on our last words", () =>
    expect(endOf(flow, [...confirmed, cut("Thank"), hungUp])).toMatchObject({ outcome: "confirmed", by: "customer" }));
  test("is no decision of theirs where the model decides before their first turn", () => {
    const decides = [started, answer("Goodbye.", [call("leave")])];
    expect(endOf(flow, [...decides, cut(""), speechFails])).toMatchObject({
      outcome: "failed",
      errors: ["SPEECH_FAILED"],
    });
    expect(endOf(flow, [...decides, heardOut])).toMatchObject({ outcome: "left", by: "agent" });
  });
  test("the end that follows our own close is ours", () =>
    expect(endOf(flow, [...confirmed, heardOut, hungUp, speechFails])).toMatchObject({ by: "agent", errors: [] }));
});

describe("a message on voicemail", () => {
  const flow = testFlow({ voicemail_message: "Hello {{customer}}, please call {{shop}} back." });
  const leaving = (...events: DialogueEvent[]) => {
    let state = newDialogue(PAYLOAD, "leave_message");
    for (const event of [{ type: "machine" }, { type: "beep" }, ...events] as const)
      ({ state } = step(flow, state, event));
    return { left: state.message_left, errors: state.errors.map(({ code }) => code), lines: state.transcript.length };
  };
  test("is left once it was heard", () => expect(leaving(heardOut)).toEqual({ left: true, errors: [], lines: 1 }));
  test("is not left where speech fails", () =>
    expect(leaving(cut(""), speechFails)).toEqual({ left: false, errors: ["SPEECH_FAILED"], lines: 0 }));
  test("is not left where the mailbox hangs up in it", () =>
    expect(leaving(cut("Hello Ada"), hungUp)).toMatchObject({ left: false, errors: [] }));
});

describe("a machine", () => {
  const flow = testFlow();
  const turns = (n: number) => [
    started,
    answer("Ada, do you confirm?"),
    ...Array.from({ length: n }, () => [heard("Who is calling?"), answer("Mia of Northwind.")]).flat(),
  ];
  test("that a person has had two answers from is a note, and nothing else", () => {
    const { state, last } = play(flow, [...turns(2), { type: "machine" }]);
    expect(last).toEqual([{ type: "note_error", code: "MACHINE_IGNORED", node: "ask" }]);
    expect(state).toMatchObject({ mode: "listening", voicemail: false });
  });
  test("that is found while it hears our last words was told nothing: it is tried again", () => {
    expect(endOf(announcing, [started, { type: "machine" }, heardOut])).toMatchObject({
      outcome: "voicemail",
      retried: true,
    });
  });
  test("that spoke one greeting is one", () =>
    expect(play(flow, [...turns(1), { type: "machine" }]).state).toMatchObject({ mode: "ended", voicemail: true }));
});

test("an answer that was cut is an error of its turn, and what came of it is said", () => {
  const cutShort = (code: string) => (s: { turn: number }) =>
    ({ type: "model_answered", turn: s.turn, text: "Your order is", calls: [], cut: code }) as const;
  for (const code of ["ANSWER_CUT", "ANSWER_FILTERED"]) {
    const { state } = play(testFlow(), [started, cutShort(code)]);
    expect(state.errors).toEqual([{ code, node: "ask" }]);
    expect(state.transcript.at(-1)?.content).toBe("Your order is");
  }
});
