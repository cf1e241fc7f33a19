import * as fc from "fast-check";
import { coughPcm } from "../../../local/speech/noises.ts";
import { audioCall } from "../fixtures/audio-call.ts";
import { ScriptedRealtime } from "../fixtures/scripted-realtime-model.ts";
import { testFlow } from "../../fixtures/flow-template.ts";

const FLOW = testFlow({
  greeting: "Good day. Do you hear me?",
  nodes: [{ name: "ask", prompt: "Talk." }],
  initial_node: "ask",
  global_functions: [],
});
const LINES = ["Yes.", "Where is it?", "I would like it on", "Friday, please.", "uh-huh", "Stop, please stop."];
const ANSWERS = [
  "Well.",
  "It is on its way to you now, and comes tomorrow before noon.",
  "I see. Let me look that up for you.",
];

type Act =
  | { kind: "say"; line: number }
  | { kind: "press"; digit: number }
  | { kind: "pass"; ms: number }
  | { kind: "cough" };
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant("say" as const), line: fc.nat(LINES.length - 1) }),
  fc.record({ kind: fc.constant("press" as const), digit: fc.nat(9) }),
  fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 60 }).map((n) => n * 40) }),
  fc.record({ kind: fc.constant("cough" as const) }),
);
const delay = (max: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: max / 20 }).map((n) => n * 20);
const script = fc.record({
  stt_ms: delay(600),
  created_ms: delay(300),
  first_ms: delay(800),
  cancel_ms: delay(400),
  piece_every_ms: fc.constantFrom(0, 20, 60, 100),
  dialect: fc.constantFrom("ga" as const, "beta" as const),
  preemptive: fc.boolean(),
});

/** What a side knows of what the caller said and keyed; words may come to be known after keys that were pressed later. */
const words = (texts: readonly string[]): string[] => texts.join(" ").split(" ").sort();

test("whatever happens when: no answer is refused, nothing is cut that was not made, both sides know the same words, and the conversation goes on", async () => {
  await fc.assert(
    fc.asyncProperty(script, fc.array(act, { minLength: 2, maxLength: 8 }), async (how, acts) => {
      const server = new ScriptedRealtime({
        ...how,
        reply: (n) => ({ text: `${ANSWERS[n % ANSWERS.length]} (${n})` }),
      });
      const c = audioCall({ flow: FLOW, reply: () => ({ text: "" }), processor: server.processor, idle_ms: 60_000 });
      for (const a of acts) {
        if (a.kind === "say") await c.say(LINES[a.line] ?? "");
        else if (a.kind === "press") c.far.press(String(a.digit));
        else if (a.kind === "cough") await c.sound(coughPcm(350, 8000, 7));
        await c.pass(a.kind === "pass" ? a.ms : 40);
      }
      const quiet = (): boolean => c.state().mode === "listening" && !c.far.waiting();
      await c.until(quiet, 30_000);
      await c.pass(3000);
      await c.until(quiet, 30_000);
      // an answer may end while word of its cancelling is on its way
      expect([server.refused.filter((r) => r !== "response_cancel_not_active"), c.faults]).toEqual([[], []]);
      const theirs = server.items.filter((i) => i.kind === "user" || i.kind === "keyed").map((i) => i.text);
      expect(words(theirs)).toEqual(words(c.state().history.flatMap((m) => (m.role === "user" ? [m.content] : []))));
      // of ours, the server keeps what was heard; of less than a word the conversation keeps nothing
      const ours = c.state().transcript.filter((l) => l.role === "assistant").length;
      const spoken = server.items.filter((i) => i.kind === "spoken");
      expect(spoken.length).toBeGreaterThanOrEqual(ours);
      expect(spoken.filter((i) => i.heard_ms === null).length).toBeLessThanOrEqual(ours);
      const before = c.heard();
      await c.say("Go on, please.");
      await c.until(() => c.heard().length > before.length, 10_000);
      c.voice.closeLeg();
      await c.pass(3000);
    }),
    { numRuns: 12, seed: 5 },
  );
});
