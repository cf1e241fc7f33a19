import * as fc from "fast-check";
import { coughPcm } from "../../../local/speech/noises.ts";
import { encodeSpeech } from "../../../local/speech/modem.ts";
import { audioCall } from "../fixtures/audio-call.ts";
import { testFlow } from "../../fixtures/flow-template.ts";
import { played } from "../../fixtures/long-form.ts";

/** No two answers of a script begin alike: speech that was cut is known by its words, and of two equal texts nobody could say which was heard. */
const BEGINNINGS = ["Well", "Now", "Right", "Good", "Fine", "Sure", "Yes", "Hm"];
const ANSWERS = [
  "Certainly.",
  "Let me see. That is the blue one, and it costs forty dollars in all.",
  "I am afraid that we have none of those left until Thursday next week, sorry.",
];
const SAYS = ["Yes, please.", "How much is it?", "I would like the other one, please.", "No."];

/** What a caller does, and how long after the last thing, ms. */
const doing = fc.record({
  after: fc.integer({ min: 0, max: 4000 }),
  what: fc.oneof(
    fc.constantFrom(...SAYS).map((say) => ({ say })),
    fc.integer({ min: 60, max: 800 }).map((cough) => ({ cough })),
    fc.constantFrom("1", "2").map((key) => ({ key })),
  ),
});
const delays = fc.record({
  stt: fc.integer({ min: 0, max: 600 }),
  first_token: fc.integer({ min: 0, max: 1500 }),
  token: fc.integer({ min: 0, max: 120 }),
  first_audio: fc.integer({ min: 0, max: 500 }),
});

/** Plays a conversation of random doings; gives all that can be compared. */
async function talk(
  script: { after: number; what: { say: string } | { cough: number } | { key: string } }[],
  times: { stt: number; first_token: number; token: number; first_audio: number },
  preemptive: boolean,
) {
  const c = audioCall({
    flow: testFlow({
      greeting: "Good day. This call is recorded. Do you hear me?",
      nodes: [{ name: "ask", prompt: "Help them." }],
      initial_node: "ask",
      global_functions: [],
    }),
    reply: (n) => ({ text: `${BEGINNINGS[n % BEGINNINGS.length]}. ${ANSWERS[n % ANSWERS.length]}` }),
    delays: times,
    preemptive,
  });
  for (const { after, what } of script) {
    await c.pass(after);
    if ("say" in what) await c.sound(encodeSpeech(what.say, 8000));
    else if ("cough" in what) await c.sound(coughPcm(what.cough, 8000, 5));
    else c.far.press(what.key);
  }
  await c.pass(6000);
  c.far.hangUp();
  await c.pass(3000);
  await c.voice.closed;
  return c;
}

const words = (text: string): string[] => text.split(/\s+/).filter((w) => w !== "");

describe("whatever a caller does, and however slow the models are", () => {
  test("what the transcript says of ours is what was heard, to a word at each cut or pause", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(doing, { minLength: 1, maxLength: 5 }),
        delays,
        fc.boolean(),
        async (script, times, preemptive) => {
          const c = await talk(script, times, preemptive);
          const said = words(
            c
              .state()
              .transcript.filter((l) => l.role === "assistant")
              .map((l) => l.content)
              .join(" "),
          );
          const heard = words(c.heard());
          // a pause in mid-word makes one word two, a cut may end in one
          expect(Math.abs(said.length - heard.length)).toBeLessThanOrEqual(
            c.far.clears() + c.told.filter((e) => e.type === "interrupted").length,
          );
          expect(c.state().ended_by).toBe("customer");
        },
      ),
      { numRuns: played(8, 25) },
    );
  });

  test("nothing that was said by the caller is lost or told twice", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(doing, { minLength: 1, maxLength: 4 }), delays, async (script, times) => {
        const c = await talk(script, times, true);
        const told = words(c.told.flatMap((e) => (e.type === "heard" ? [e.text] : [])).join(" ")).length;
        const said = words(script.flatMap(({ what }) => ("say" in what ? [what.say] : [])).join(" ")).length;
        expect(told).toBeLessThanOrEqual(said);
        expect(c.told.filter((e) => e.type === "stopped")).toHaveLength(1);
      }),
      { numRuns: played(8, 20) },
    );
  });

  test("the same script gives the same trace, byte for byte", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(doing, { minLength: 1, maxLength: 4 }), delays, async (script, times) => {
        const [one, two] = [await talk(script, times, true), await talk(script, times, true)];
        expect(JSON.stringify(two.state())).toBe(JSON.stringify(one.state()));
        expect(two.heard()).toBe(one.heard());
      }),
      { numRuns: 10 },
    );
  });
});
