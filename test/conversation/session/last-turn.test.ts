import { encodeSpeech } from "../../../local/speech/modem.ts";
import { conversationFacts } from "../../../services/conversation/dialogue/conversation-facts.ts";
import type { TranscriptionModel } from "../../../services/conversation/providers/port.ts";
import { call, testFlow } from "../../fixtures/flow-template.ts";
import { audioCall, type AudioCall, type AudioCallOptions, type SimReply } from "../fixtures/audio-call.ts";
import { RATE } from "../fixtures/delayed-models.ts";
import { ScriptedRealtime } from "../fixtures/scripted-realtime-model.ts";
import { hold } from "./fixtures/held-conversation.ts";

const flow = testFlow({ greeting: "Good day. Do you hear me?" });
const STOP = "Please do not call me again.";
/** A model that understands the last words of a call. */
const judge =
  (...calls: ReturnType<typeof call>[]): AudioCallOptions["reply"] =>
  (n): SimReply =>
    n === 0 ? { text: "Do you hear me?" } : { text: "I see.", calls };
const onTheLine = (reply: AudioCallOptions["reply"], more: Partial<AudioCallOptions> = {}): AudioCall =>
  audioCall({ flow, reply, ...more });

/** They say something and hang up at once. */
async function sayAndGo(c: AudioCall, text: string): Promise<ReturnType<typeof conversationFacts>> {
  await c.until(() => c.heard().includes("hear me?"));
  await c.pass(500);
  await c.sound(encodeSpeech(text, RATE).subarray(0, -800));
  await c.pass(60);
  c.far.hangUp();
  await c.pass(6000);
  await c.voice.closed;
  return conversationFacts(c.state());
}

describe("what they say just before they hang up", () => {
  test("stands in the transcript, and a wish not to be called again counts", async () => {
    const facts = await sayAndGo(onTheLine(judge(call("do_not_call")), { delays: { stt: 800 } }), STOP);
    expect(facts).toMatchObject({ ended_by: "customer", decided: "do_not_call", do_not_call: true, errors: [] });
    expect(facts.transcription.at(-1)).toMatchObject({
      role: "user",
      content: expect.stringMatching(/^Please do not/),
    });
  });
  test("may be the answer, and nothing more is said", async () => {
    const c = onTheLine(judge(call("confirm")), { delays: { stt: 300, first_token: 400 } });
    const facts = await sayAndGo(c, "Yes, I confirm it.");
    expect(facts).toMatchObject({ decided: "confirmed", ended_by: "customer", user_turns: 1 });
    expect(c.spoken.join()).not.toContain("I see");
  });
  test("decides nothing where it is no decision, and starts nothing elsewhere", async () => {
    const c = onTheLine(judge(call("stock")));
    expect(await sayAndGo(c, "Is it in stock?")).toMatchObject({ decided: null, ended_by: "customer" });
    expect(c.state().awaiting).toBeNull();
  });
  test("counts where the model was being asked as they hung up", async () => {
    const c = onTheLine(judge(call("do_not_call")), { delays: { first_token: 3000 } });
    await c.until(() => c.heard().includes("hear me?"));
    await c.say(STOP);
    await c.pass(1000);
    expect(c.state().mode).toBe("thinking");
    c.far.hangUp();
    await c.pass(6000);
    expect(c.state()).toMatchObject({ mode: "ended", do_not_call: true, ended_by: "customer" });
  });
  test("is waited for within bounds, and that it stayed unknown is an error", async () => {
    const deaf: TranscriptionModel = {
      open: () => ({ push: () => undefined, text: () => new Promise(() => undefined), close: () => undefined }),
    };
    const facts = await sayAndGo(onTheLine(judge(), { transcription: deaf }), STOP);
    expect(facts).toMatchObject({ ended_by: "customer", errors: [{ code: "TRANSCRIPTION_TIMEOUT" }] });
  });
  test("that the recogniser refuses is an error of the lead", async () => {
    const deaf: TranscriptionModel = {
      open: () => ({ push: () => undefined, text: () => Promise.reject(new Error("no")), close: () => undefined }),
    };
    const facts = await sayAndGo(onTheLine(judge(), { transcription: deaf }), STOP);
    expect(facts).toMatchObject({ ended_by: "customer", errors: [{ code: "MODEL_ERROR" }] });
  });
  test("a model that does not judge it is waited for within bounds", async () => {
    const c = onTheLine((n) => (n === 0 ? { text: "Do you hear me?" } : { text: "" }), {
      delays: { first_token: 60_000 },
    });
    await c.until(() => c.heard().includes("hear me?"), 80_000);
    c.tell({ type: "heard", text: STOP });
    c.far.hangUp();
    await c.pass(5500);
    expect(c.state()).toMatchObject({ mode: "ended", ended_by: "customer" });
  });
  test("who says nothing is gone at once, and no model is asked", async () => {
    const c = onTheLine(judge(call("confirm")));
    await c.until(() => c.heard().includes("hear me?"));
    await c.pass(500);
    const asked = c.asked.length;
    c.far.hangUp();
    await c.pass(100);
    expect([c.state().mode, c.asked.length]).toEqual(["ended", asked]);
  });
  test("realtime: the server hears the end of their turn", async () => {
    const server = new ScriptedRealtime({
      reply: (n) => (n === 0 ? { text: "Do you hear me?" } : { calls: [call("do_not_call")] }),
      stt_ms: 20,
    });
    const c = onTheLine(() => ({ text: "" }), { processor: server.processor });
    await c.until(() => c.heard().includes("hear me?"));
    await c.pass(500);
    await c.say(STOP);
    c.far.hangUp();
    await c.pass(6000);
    expect(c.transcript().at(-1)).toBe(`user: ${STOP}`);
  });
  test("realtime: words that the server can't tell are an error of the lead", async () => {
    const server = new ScriptedRealtime({ reply: () => ({ text: "Do you hear me?" }), stt_ms: 20, deaf: true });
    const c = onTheLine(() => ({ text: "" }), { processor: server.processor });
    await c.until(() => c.heard().includes("hear me?"));
    await c.pass(500);
    await c.say(STOP);
    c.far.hangUp();
    await c.pass(100);
    expect(c.state()).toMatchObject({
      mode: "ended",
      ended_by: "customer",
      errors: [{ code: "TRANSCRIPTION_FAILED" }],
    });
  });
  test("relay: words that the carrier had not called final count too", async () => {
    const asked: unknown[] = [];
    const t = hold({
      model: {
        answer: async (request, { onText }) => {
          asked.push(request);
          if (asked.length === 1) onText("Zebulon, is Q-999 fine?");
          const calls = asked.length === 1 ? [] : [{ id: "c", name: "do_not_call", arguments: "{}" }];
          return { text: "", calls, first_token_ms: 1, total_ms: 2, prompt_tokens: 3, completion_tokens: 4, tries: 1 };
        },
      },
    });
    await t.pass(0);
    t.events().prompt("Don't call me", false);
    t.events().closed();
    await t.pass(100);
    await t.session.ended;
    expect(t.named("leads.settle")[0]?.params).toMatchObject({
      facts: { talk: { do_not_call: true, ended_by: "customer" } },
    });
  });
});

test("a recogniser that hangs is no silence of the customer: they are asked to say it again, with the reason", async () => {
  const hangs: TranscriptionModel = {
    open: () => ({
      push: () => undefined,
      async text() {
        await c.clock.wait(9000);
        throw new Error("timed out");
      },
      close: () => undefined,
    }),
  };
  const c: AudioCall = onTheLine(judge(), { transcription: hangs, idle_ms: 2000 });
  await c.until(() => c.heard().includes("hear me?"));
  await c.pass(300);
  await c.say("Yes, please confirm it.");
  await c.until(() => c.heard().includes("say that again"), 15_000);
  expect(c.heard()).not.toContain("Are you still there");
  expect(c.state().errors).toMatchObject([{ code: "MODEL_ERROR" }]);
});
