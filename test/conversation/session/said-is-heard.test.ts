import { beepPcm } from "../../../local/speech/noises.ts";
import { encodeSpeech } from "../../../local/speech/modem.ts";
import { conversationFacts } from "../../../services/conversation/dialogue/conversation-facts.ts";
import { outcomeOf } from "../../../services/leads/rules/outcomes.ts";
import type { FlowNode } from "../../../shared/contracts/flow/flow-node.ts";
import { noFacts } from "../../../shared/contracts/records/attempt.ts";
import { testFlow } from "../../fixtures/flow-template.ts";
import { audioCall, type AudioCall, type AudioCallOptions } from "../fixtures/audio-call.ts";
import { RATE } from "../fixtures/delayed-models.ts";
import type { RealtimeScript } from "../fixtures/realtime-script.ts";
import { ScriptedRealtime } from "../fixtures/scripted-realtime-model.ts";
import { hold } from "./fixtures/held-conversation.ts";

const NEWS = "Your flight is cancelled, please do not come.";
const GREETING = "Good day from the airport.";
const TELL: FlowNode = {
  name: "tell",
  say: NEWS,
  on_enter: [{ type: "outcome", outcome: "informed" }, { type: "end_call" }],
};
const flowOf = (greeting: string | null = null, say = NEWS) =>
  testFlow({
    greeting,
    global_functions: [],
    initial_node: "tell",
    nodes: [{ ...TELL, say }],
    voicemail_message: "Please call the airport back.",
  });

/** How a call has ended, as its lead tells. */
function told(call: Pick<AudioCall, "state" | "transcript">) {
  const talk = conversationFacts(call.state());
  return {
    outcome: outcomeOf({ ...noFacts("completed"), machine: talk.machine, talk }),
    by: talk.ended_by,
    errors: talk.errors.map(({ code }) => code),
    transcript: call.transcript(),
  };
}
type Speak = NonNullable<NonNullable<AudioCallOptions["speech"]>["speak"]>;

/** A voice that speaks the greeting, and of every other text but a question what the test says. */
const voice = (of: (pcm: Int16Array) => AsyncIterable<Int16Array>): Speak =>
  async function* speak(text) {
    if (text === GREETING || text.endsWith("?")) yield encodeSpeech(text, RATE);
    else yield* of(encodeSpeech(text, RATE));
  };
const nothing = async function* (): AsyncIterable<Int16Array> {};
const refuses = (): AsyncIterable<Int16Array> => ({
  [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error("429")) }),
});
describe("cascade: a call that only tells something", () => {
  const onTheLine = (of: Parameters<typeof voice>[0], greeting: string | null = null, more = {}) =>
    audioCall({ flow: flowOf(greeting), reply: () => ({ text: "" }), speech: { speak: voice(of) }, ...more });

  test("has told it once it was heard to its end", async () => {
    const c = audioCall({ flow: flowOf(), reply: () => ({ text: "" }) });
    await c.until(() => c.far.isClosed());
    expect(told(c)).toEqual({ outcome: "informed", by: "agent", errors: [], transcript: [`assistant: ${NEWS}`] });
  });
  test.each([
    ["gives no sound", nothing],
    ["refuses", refuses],
  ])("has told nothing where the voice %s: the call failed", async (_how, of) => {
    const c = onTheLine(of);
    await c.until(() => c.far.isClosed());
    expect(c.heard()).toBe("");
    expect(told(c)).toEqual({ outcome: "failed", by: "error", errors: ["SPEECH_FAILED"], transcript: [] });
  });
  test("has told as much as was heard where the sound breaks off", async () => {
    const c: AudioCall = onTheLine(async function* (pcm) {
      yield pcm.slice(0, Math.round(pcm.length / 3));
      await c.clock.wait(1500);
      throw new Error("it broke off");
    });
    await c.until(() => c.far.isClosed());
    const { transcript, ...rest } = told(c);
    expect(rest).toEqual({ outcome: "call_error", by: "error", errors: ["SPEECH_FAILED"] });
    expect(c.heard()).not.toBe("");
    const [line = ""] = transcript;
    expect(NEWS.startsWith(line.replace("assistant: ", ""))).toBe(true);
    expect(line.length).toBeLessThan(NEWS.length);
  });
  test("keeps the greeting that was heard where the news fail", async () => {
    const c: AudioCall = onTheLine(async function* (pcm) {
      await Promise.resolve();
      while (!c.heard().endsWith("airport.")) await c.clock.wait(100);
      await c.clock.wait(500);
      if (pcm.length < 0) yield pcm;
      throw new Error("late");
    }, GREETING);
    await c.until(() => c.far.isClosed());
    expect(told(c)).toEqual({
      outcome: "call_error",
      by: "error",
      errors: ["SPEECH_FAILED"],
      transcript: [`assistant: ${GREETING}`],
    });
  });
  test("has told nothing to who hangs up at its beginning", async () => {
    const c = audioCall({ flow: flowOf(), reply: () => ({ text: "" }) });
    await c.until(() => c.lastSoundAt() !== null);
    await c.pass(400);
    c.far.hangUp();
    await c.pass(100);
    expect(told(c)).toMatchObject({ outcome: "customer_hangup", by: "customer", errors: [] });
  });
  test("says long news to their end", async () => {
    const long = `${"This is a long notice about your flight. ".repeat(12)}Goodbye.`;
    const c = audioCall({ flow: flowOf(null, long), reply: () => ({ text: "" }) });
    await c.until(() => c.far.isClosed(), 120_000);
    expect(c.heard()).toContain("Goodbye.");
    expect(told(c).outcome).toBe("informed");
  });
  test("a message on voicemail is left once it was heard, and not where the voice fails", async () => {
    const left = async (speech: AudioCallOptions["speech"]) => {
      const c = audioCall({
        flow: testFlow({ voicemail_message: "Please call the airport back.", greeting: GREETING }),
        reply: () => ({ text: "Do you hear me?" }),
        voicemail: "leave_message",
        tells_beep: false,
        ...(speech && { speech }),
      });
      await c.until(() => c.heard() !== "");
      c.tell({ type: "machine" });
      await c.say("Please leave a message.");
      await c.sound(beepPcm(500, 8000));
      await c.until(() => c.far.isClosed());
      return [c.state().message_left, c.state().errors.map(({ code }) => code), c.heard().includes("call the airport")];
    };
    expect(await left(undefined)).toEqual([true, [], true]);
    expect(await left({ speak: voice(nothing) })).toEqual([false, ["SPEECH_FAILED"], false]);
  });
});

test("media that we refuse are our fault, with the reason, and the call failed", async () => {
  const c = audioCall({ flow: flowOf(), reply: () => ({ text: "" }) });
  c.far.refuse("MEDIA_FORMAT_UNKNOWN");
  await c.pass(100);
  expect(told(c)).toMatchObject({ outcome: "failed", by: "error", transcript: [] });
  expect(c.state().errors).toEqual([{ code: "MEDIA_FAILED", node: "tell", detail: "MEDIA_FORMAT_UNKNOWN" }]);
});

describe("realtime: a call that only tells something", () => {
  const onTheLine = (script: Partial<RealtimeScript>) => {
    const server = new ScriptedRealtime({ reply: () => ({ text: "Yes?" }), ...script });
    return audioCall({ flow: flowOf(), reply: () => ({ text: "" }), processor: server.processor });
  };
  test.each<[string, Partial<RealtimeScript>]>([
    ["fails", { fails: [1, 2] }],
    ["ends without sound", { mute: true }],
    ["ends with its words and no sound", { soundless: true }],
  ])("has told nothing where the answer %s: the call failed", async (_how, script) => {
    const c = onTheLine(script);
    await c.until(() => c.far.isClosed());
    expect(c.heard()).toBe("");
    expect(told(c)).toEqual({ outcome: "failed", by: "error", errors: ["SPEECH_FAILED"], transcript: [] });
  });
  test("has told it once it was heard", async () => {
    const c = onTheLine({});
    await c.until(() => c.far.isClosed());
    expect(told(c)).toMatchObject({ outcome: "informed", by: "agent", errors: [], transcript: [`assistant: ${NEWS}`] });
  });
});

describe("relay: a call that only tells something, by the carrier's word", () => {
  const onTheLine = (flow = flowOf()) => {
    const t = hold({ template: { flow, judge: async () => [] }, end: () => undefined });
    const pass = async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= 100) await t.pass(100);
    };
    const settled = async () => {
      await t.session.ended;
      const { facts } = (t.named("leads.settle")[0]?.params ?? {}) as { facts: Parameters<typeof outcomeOf>[0] };
      const { talk } = facts;
      return {
        outcome: outcomeOf(facts),
        by: talk?.ended_by,
        errors: talk?.errors.map(({ code }) => code),
        transcript: talk?.transcription.map(({ content }) => content),
      };
    };
    return { t, pass, settled };
  };
  test("has told it once the carrier has spoken it", async () => {
    const { t, pass, settled } = onTheLine();
    await pass(500);
    t.events().speaking(true);
    await pass(3000);
    t.events().speaking(false);
    await pass(500);
    t.events().closed();
    expect(await settled()).toEqual({ outcome: "informed", by: "agent", errors: [], transcript: [NEWS] });
  });
  test("has told it after its time where the carrier reports nothing", async () => {
    const { t, pass, settled } = onTheLine();
    await pass(5000);
    t.events().closed();
    expect(await settled()).toMatchObject({ outcome: "informed", by: "agent", transcript: [NEWS] });
  });
  test("has told nothing where the carrier complains and speaks nothing", async () => {
    const { t, pass, settled } = onTheLine();
    await pass(200);
    t.events().fault();
    await pass(5000);
    t.events().closed();
    expect(await settled()).toEqual({
      outcome: "failed",
      by: "error",
      errors: ["RELAY_REFUSED_FRAME", "SPEECH_FAILED"],
      transcript: [],
    });
  });
  test("whose session fails is our fault and nobody's hang-up", async () => {
    const { t, pass, settled } = onTheLine();
    await pass(200);
    t.events().fault();
    t.events().closed();
    expect(await settled()).toMatchObject({ outcome: "failed", by: "error", transcript: [] });
  });
  test("has told nothing to who hangs up at its beginning", async () => {
    const { t, pass, settled } = onTheLine();
    await pass(300);
    t.events().speaking(true);
    await pass(400);
    t.events().closed();
    const { transcript, ...rest } = await settled();
    expect(rest).toEqual({ outcome: "customer_hangup", by: "customer", errors: [] });
    expect(NEWS.startsWith(transcript?.[0] ?? "?")).toBe(true);
  });
  test("whose carrier reports its speech, but not this, has told nothing", async () => {
    const { t, pass, settled } = onTheLine(testFlow());
    await pass(300);
    t.events().speaking(true);
    await pass(4000);
    t.events().speaking(false);
    t.session.signal("window_closed");
    await pass(12_000);
    t.events().closed();
    expect(await settled()).toMatchObject({
      by: "error",
      errors: ["SPEECH_FAILED"],
      transcript: ["Good day from Northwind.", "Zebulon, is Q-999 fine?"],
    });
  });
});
