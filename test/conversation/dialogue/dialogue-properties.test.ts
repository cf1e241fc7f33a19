import * as fc from "fast-check";
import { step } from "../../../services/conversation/dialogue/dialogue-manager.ts";
import { functionsIn } from "../../../services/conversation/dialogue/flow.ts";
import { heardTexts } from "../../../services/conversation/dialogue/transcript.ts";
import {
  MAX_TRANSCRIPT_TURNS,
  newDialogue,
  type Effect,
  type DialogueEvent,
  type DialogueState,
} from "../../../services/conversation/dialogue/dialogue-state.ts";
import { conversationFacts } from "../../../services/conversation/dialogue/conversation-facts.ts";
import { answer, call, heard, NODES, PAYLOAD, play, started, testFlow } from "../../fixtures/flow-template.ts";

const flow = testFlow({ voicemail_message: "Please call back, {{customer}}." });
const NAMES = [
  "confirm",
  "another_day",
  "note",
  "maybe",
  "leave",
  "agent",
  "stock",
  "set_day",
  "wrong_person",
  "nonsense",
];
const words = fc.constantFrom("", "Yes.", "No, thanks", "Ada, do you confirm", "Good day from Northwind.", "Goodbye!");
const aCall = fc.record({
  id: fc.constantFrom("c1", "c2", "c3"),
  name: fc.constantFrom(...NAMES),
  arguments: fc.constantFrom("{}", "{oops", '{"day":"Friday"}', '{"day":1}', '{"text":"x"}', "[]"),
});
/** Events as they may come, also stale ones and ones that do not fit. */
const anEvent: fc.Arbitrary<(s: DialogueState) => DialogueEvent> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ text: words, said: words }).map((e) => () => ({ type: "heard", ...e }) as const),
  },
  {
    weight: 6,
    arbitrary: fc.record({ text: words, calls: fc.array(aCall, { maxLength: 3 }), stale: fc.boolean() }).map(
      ({ text, calls, stale }) =>
        (s: DialogueState) =>
          ({ type: "model_answered", turn: stale ? s.turn - 1 : s.turn, text, calls }) as const,
    ),
  },
  {
    weight: 1,
    arbitrary: words.map(
      (said) => (s: DialogueState) => ({ type: "model_failed", turn: s.turn, code: "MODEL_ERROR", said }) as const,
    ),
  },
  {
    weight: 2,
    arbitrary: fc.record({ spoken: words, said: words }).map((e) => () => ({ type: "interrupted", ...e }) as const),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ ok: fc.boolean(), result: words })
      .map((e) => (s: DialogueState) => ({ type: "http_done", call_id: s.awaiting?.call_id ?? "none", ...e }) as const),
  },
  {
    weight: 1,
    arbitrary: fc
      .boolean()
      .map(
        (ok) => (s: DialogueState) =>
          ok
            ? ({ type: "transfer_done", call_id: s.awaiting?.call_id ?? "" } as const)
            : ({ type: "transfer_failed", call_id: s.awaiting?.call_id ?? "", code: "X" } as const),
      ),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom<DialogueEvent>({ type: "idle" }, { type: "dtmf", digits: "1" }, { type: "started" })
      .map((e) => () => e),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom<DialogueEvent>(
        { type: "time_up", said: "Ada" },
        { type: "machine" },
        { type: "beep" },
        { type: "message_handed" },
        { type: "played_out" },
        { type: "fault", code: "RELAY_REFUSED_FRAME" },
        { type: "stopped", reason: "speech_failed" },
        { type: "stopped", reason: "hung_up" },
        { type: "stopped", reason: "shutdown" },
      )
      .map((e) => () => e),
  },
);
const aTalk = fc.array(anEvent, { maxLength: 40 }).map((events) => [() => started, ...events]);

/** Runs a conversation, calling `look` after each step. */
function run(
  script: ((s: DialogueState) => DialogueEvent)[],
  look: (before: DialogueState, event: DialogueEvent, after: DialogueState, effects: readonly Effect[]) => void,
): DialogueState {
  let state = newDialogue(PAYLOAD, script.length % 2 === 0 ? "leave_message" : "hangup");
  for (const make of script) {
    const event = make(state);
    const { state: after, effects } = step(flow, state, event);
    look(state, event, after, effects);
    state = after;
  }
  return state;
}

test("the same script gives the same trace, byte for byte", () => {
  fc.assert(
    fc.property(aTalk, (script) => {
      const trace = (): string => {
        const all: unknown[] = [];
        run(script, (_b, _e, after, effects) => all.push(after, effects));
        return JSON.stringify(all);
      };
      expect(trace()).toBe(trace());
    }),
    { numRuns: 150 },
  );
});

test("nodes are left only by an edge of the template, or back to where the closing came from, and reported in order", () => {
  const edges = new Map(
    NODES.map((n) => [n.name, new Set(functionsIn(flow, n.name).flatMap((f) => f.next_node ?? []))]),
  );
  fc.assert(
    fc.property(aTalk, (script) => {
      const path = conversationFacts(run(script, () => undefined)).node_traversal;
      expect(path[0]).toBe("ask");
      for (const [i, node] of path.slice(1).entries()) expect([...edges.get(path[i]!)!, path[i - 1]]).toContain(node);
    }),
    { numRuns: 300 },
  );
});

test("there is one end, nothing follows it, and every conversation that ended says who ended it", () => {
  fc.assert(
    fc.property(aTalk, (script) => {
      let ends = 0;
      const state = run(script, (before, _event, after, effects) => {
        if (before.mode === "ended") expect(effects).toEqual([]);
        const at = effects.findIndex((e) => e.type === "end");
        if (at >= 0) {
          ends++;
          expect(at).toBe(effects.length - 1);
          expect(after.mode).toBe("ended");
        }
      });
      expect(ends).toBe(state.mode === "ended" ? 1 : 0);
      expect(state.ended_by !== null).toBe(state.mode === "ended");
    }),
    { numRuns: 300 },
  );
});

test("at most one outcome, and only one a function of the template decides", () => {
  const allowed = new Set([
    null,
    "transferred",
    ...NODES.flatMap((n) => functionsIn(flow, n.name).map((f) => f.outcome ?? null)),
  ]);
  fc.assert(
    fc.property(aTalk, (script) => {
      run(script, (before, _e, after) => {
        expect(allowed).toContain(after.decided);
        const mayCount = before.decided !== after.decided && before.promised !== null;
        if (before.mode === "ended" && !mayCount) expect(after.decided).toBe(before.decided);
      });
    }),
    { numRuns: 200 },
  );
});

test("at most one generation is under way, and the mode says so", () => {
  fc.assert(
    fc.property(aTalk, (script) => {
      run(script, (before, _e, after, effects) => {
        const thoughts = effects.filter((e) => e.type === "think");
        expect(thoughts.length).toBeLessThanOrEqual(1);
        if (thoughts[0]) {
          expect(after.mode).toBe(thoughts[0].unheard ? "parting" : "thinking");
          expect(thoughts[0].turn).toBe(after.turn);
          expect(after.turn).toBeGreaterThan(before.turn);
        } else if (after.mode === "thinking") expect(before.mode).toBe("thinking");
      });
    }),
    { numRuns: 200 },
  );
});

test("history and transcript hold only what was heard or said, in the same words; every call has its answer when the model is asked", () => {
  fc.assert(
    fc.property(aTalk, (script) => {
      const uttered = new Set<string>();
      const said = new Set<string>();
      const note = (set: Set<string>, text: string | null | undefined): void => {
        if (text?.trim()) set.add(text.trim());
      };
      run(script, (_before, event, after, effects) => {
        if (event.type === "heard") note(uttered, event.text);
        if (event.type === "dtmf") note(uttered, `[keypad] ${event.digits}`);
        if (event.type === "model_answered") note(said, event.text);
        if (event.type === "interrupted") note(said, event.spoken);
        note(said, event.said);
        for (const e of effects) {
          if (e.type === "say") note(said, e.text);
          if (e.type === "end") note(said, e.goodbye);
          // a carrier that says it by itself reports that it was handed the message
          if (e.type === "await_beep") note(said, e.message);
        }
        for (const l of after.transcript) expect(l.role === "user" ? uttered : said).toContain(l.content);
        for (const m of after.history) {
          if (m.role === "user") expect(uttered).toContain(m.content);
          if (m.role === "assistant" && m.content !== null) expect(said).toContain(m.content);
        }
        expect(after.transcript.length).toBeLessThanOrEqual(MAX_TRANSCRIPT_TURNS);
        for (const e of effects) {
          if (e.type !== "think") continue;
          expect(e.messages.filter((m) => m.role === "system").length).toBe(1);
          e.messages.forEach((m, i) => {
            if (m.role === "assistant" && m.tool_calls)
              expect(e.messages[i + 1]).toMatchObject({ role: "tool", tool_call_id: m.tool_calls[0]?.id });
          });
        }
      });
    }),
    { numRuns: 300 },
  );
});

test("what was heard is a beginning of what was said, and ends in exactly the words reported", () => {
  const text = fc.stringMatching(/^[a-z]{1,6}( [a-z]{1,6}){0,4}$/);
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), fc.nat(), fc.nat(), (texts, a, b) => {
      const from = a % texts.length;
      const whole = texts.slice(from).join(" ");
      const spoken = whole.slice(0, 1 + (b % whole.length));
      const kept = heardTexts(texts, spoken);
      expect(kept.at(-1)).toBe(spoken.trim());
      expect(kept.length).toBeLessThanOrEqual(texts.length);
      expect(texts.slice(0, kept.length - 1)).toEqual(kept.slice(0, -1));
    }),
  );
  expect(heardTexts(["One.", "Two three."], "Two")).toEqual(["One.", "Two"]);
  expect(heardTexts(["One two.", "Three."], "One")).toEqual(["One"]);
  expect(heardTexts(["One.", "Two."], "One. Two")).toEqual(["One. Two"]);
  expect(heardTexts(["One.", "Two."], "something else")).toEqual(["One.", "something else"]);
  expect(heardTexts(["One."], "")).toEqual([]);
  expect(heardTexts([], "One")).toEqual([]);
});

test("a whole conversation reads as it was held", () => {
  const { state } = play(flow, [
    started,
    answer("Ada, do you confirm order A-17?"),
    heard("No."),
    answer("", [call("another_day")]),
    answer("Which day suits you?"),
    heard("Friday."),
    answer("", [call("set_day", { day: "Friday" })]),
    answer("Thank you, Friday it is. Goodbye!"),
  ]);
  expect(conversationFacts(state)).toEqual({
    decided: "rescheduled",
    ended_by: "agent",
    user_turns: 2,
    idle_out: false,
    time_limit: false,
    machine: false,
    message_left: false,
    transcription: [
      { role: "assistant", content: "Good day from Northwind." },
      { role: "assistant", content: "Ada, do you confirm order A-17?" },
      { role: "user", content: "No." },
      { role: "assistant", content: "Which day suits you?" },
      { role: "user", content: "Friday." },
      { role: "assistant", content: "Thank you, Friday it is. Goodbye!" },
    ],
    node_traversal: ["ask", "ask_day", "moved"],
    variables: { new_day: "Friday", asked: "yes, Ada" },
    errors: [],
  });
});
