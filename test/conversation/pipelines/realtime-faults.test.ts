import { inTurn, silence } from "../fixtures/sound.ts";
import { encodeSpeech } from "../../../local/speech/modem.ts";
import { beepPcm } from "../../../local/speech/noises.ts";
import { audioCall, type AudioCall, type AudioCallOptions } from "../fixtures/audio-call.ts";
import type { RealtimeScript } from "../fixtures/realtime-script.ts";
import { ScriptedRealtime } from "../fixtures/scripted-realtime-model.ts";
import { call, testFlow } from "../../fixtures/flow-template.ts";

const LONG = "Your order is on its way and will be with you between nine and noon tomorrow morning, if that suits you.";
const GREETING = "Good day. Do you hear me?";

function onTheLine(
  script: Partial<RealtimeScript>,
  more: Partial<AudioCallOptions> = {},
): AudioCall & { server: ScriptedRealtime } {
  const server = new ScriptedRealtime({ reply: () => ({ text: "Yes?" }), ...script });
  return {
    ...audioCall({
      flow: testFlow({ greeting: GREETING }),
      reply: () => ({ text: "" }),
      processor: server.processor,
      ...more,
    }),
    server,
  };
}
const answering = (...texts: string[]): Pick<RealtimeScript, "reply"> => ({
  reply: (n) => ({ text: texts[n - 1] ?? "Yes?" }),
});
const greeted = (c: AudioCall) => () => c.heard().includes("hear me?");
const creates = (c: { server: ScriptedRealtime }): number => c.server.sentOf("response.create").length;

describe("answers that are taken back", () => {
  const slow: Partial<RealtimeScript> = { created_ms: 200, cancel_ms: 200, first_ms: 300 };

  test.each(["ga", "beta"] as const)(
    "before they have a name (%s): the next one waits for their end and is not taken for them",
    async (dialect) => {
      const c = onTheLine({ ...slow, ...answering("One.", "Two."), dialect });
      await c.until(greeted(c));
      await c.pass(300);
      c.far.press("1");
      await c.pass(40);
      c.far.press("2");
      await c.until(() => c.heard().includes("Two."));
      expect(c.heard()).toBe(`${GREETING} Two.`);
      expect(c.server.refused).toEqual([]);
      expect(c.transcript()).toEqual([
        `assistant: ${GREETING}`,
        "user: [keypad] 1",
        "user: [keypad] 2",
        "assistant: Two.",
      ]);
      expect(c.server.texts()).toEqual([
        `spoken: ${GREETING}`,
        "keyed: [keypad] 1",
        "keyed: [keypad] 2",
        "spoken: Two.",
      ]);
    },
  );

  test("one that does not end holds up the next for a bounded time, and a refused one is asked for again", async () => {
    const c = onTheLine({ ...slow, cancel_ms: 2500, ...answering("One.", "Two.") });
    await c.until(greeted(c));
    await c.pass(300);
    c.far.press("1");
    await c.pass(400);
    c.far.press("2");
    const pressed = c.clock.monotonicMs();
    await c.until(() => c.heard().includes("Two."));
    expect((c.firstSoundAfter(pressed) ?? Infinity) - pressed).toBeLessThan(4000);
    expect(c.server.refused.every((r) => r === "conversation_already_has_active_response")).toBe(true);
    expect([c.server.refused.length > 0, c.faults]).toEqual([true, []]);
  });

  test("an answer the server gives by itself is cancelled and not heard", async () => {
    const c = onTheLine(answering("Well."));
    await c.until(greeted(c));
    await c.pass(300);
    c.server.tell({ type: "response.created", response: { id: "resp_own" } });
    c.server.tell({
      type: "response.output_audio.delta",
      response_id: "resp_own",
      item_id: "i",
      delta: Buffer.alloc(8000, 1).toString("base64"),
    });
    await c.pass(500);
    expect(c.server.sentOf("response.cancel")).toMatchObject([{ response_id: "resp_own" }]);
    expect([c.heard(), c.faults]).toEqual([GREETING, []]);
  });

  test("a function that was called as the caller interrupted the answer is not carried out, and leaves the conversation", async () => {
    const c = onTheLine({
      reply: (n) => (n === 1 ? { text: LONG, calls: [call("leave")] } : { text: "Noon, then." }),
      piece_every_ms: 95,
      stt_ms: 50,
    });
    await c.until(greeted(c));
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("on its way"));
    await c.say("Not before noon, please.");
    await c.until(() => c.heard().includes("Noon, then."));
    expect(c.state()).toMatchObject({ decided: null, mode: "listening" });
    expect(c.server.items.some((i) => i.kind === "call")).toBe(false);
  });
});

describe("the end of a turn", () => {
  test("a caller who pauses in mid-sentence is waited for, and what was begun for the first half leaves the conversation", async () => {
    const c = onTheLine({ ...answering("I see.", "I see."), stt_ms: 80, first_ms: 100 });
    await c.until(greeted(c));
    await c.pass(300);
    await c.say("I would like it on");
    await c.pass(900);
    await c.say("Friday, please.");
    await c.until(() => c.heard().includes("I see."));
    expect(c.told.filter((e) => e.type === "heard")).toMatchObject([{ text: "I would like it on Friday, please." }]);
    expect(c.server.texts()).toEqual([
      `spoken: ${GREETING}`,
      "user: I would like it on",
      "user: Friday, please.",
      "spoken: I see.",
    ]);
    expect(c.server.refused).toEqual([]);
  });

  test("words that never come: the caller is asked again", async () => {
    const c = onTheLine({ stt_ms: 60_000 });
    await c.until(greeted(c));
    await c.say("Yes, I do.");
    await c.until(() => c.heard().includes("say that again"));
    expect(c.state().errors).toMatchObject([{ code: "TRANSCRIPTION_TIMEOUT" }]);
    expect(c.server.texts().some((t) => t.startsWith("user"))).toBe(false);
  });

  test("a server that can't tell the words: asked again once, then the call ends politely", async () => {
    const c = onTheLine({ deaf: true });
    await c.until(greeted(c));
    await c.say("Yes, I do.");
    await c.until(() => c.heard().includes("say that again"));
    await c.pass(1000);
    await c.say("I said yes.");
    await c.until(() => c.far.isClosed());
    expect(c.state()).toMatchObject({
      ended_by: "error",
      errors: [{ code: "TRANSCRIPTION_FAILED" }, { code: "TRANSCRIPTION_FAILED" }],
    });
  });

  test("from the end of speech to our first sound: the answer is begun before its words are known", async () => {
    const wait = async (preemptive: boolean): Promise<number[]> => {
      const c = onTheLine({
        ...answering(...Array.from({ length: 8 }, (_, i) => `Certainly, that is number ${i}.`)),
        stt_ms: 150,
        first_ms: 300,
        preemptive,
      });
      await c.until(greeted(c));
      const waits: number[] = [];
      for (let turn = 0; turn < 8; turn++) {
        await c.pass(400);
        await c.say("Yes, please confirm today.");
        const ended = c.clock.monotonicMs();
        await c.until(() => c.heard().includes(`number ${turn}.`));
        waits.push((c.firstSoundAfter(ended) ?? Infinity) - ended);
      }
      expect(c.timings).toHaveLength(8);
      return waits.sort((a, b) => a - b);
    };
    const [early, sure] = [await wait(true), await wait(false)];
    expect(early[7]).toBeLessThanOrEqual(300 + 300 + 80);
    expect((sure[4] ?? 0) - (early[4] ?? Infinity)).toBeGreaterThanOrEqual(80);
  });
});

describe("what fails", () => {
  test("the connection is lost: the call ends at once, with an error that says so", async () => {
    const c = onTheLine(answering(LONG));
    await c.until(greeted(c));
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("on its way"));
    c.server.lose();
    await c.until(() => c.far.isClosed(), 3000);
    expect([c.state().ended_by, c.faults, c.server.closed]).toEqual([
      "error",
      ["REALTIME_LOST", "SPEECH_FAILED"],
      true,
    ]);
  });

  test("an answer that does not come is given up: an apology, and the conversation goes on", async () => {
    const c = onTheLine({ ...answering("One.", "Two."), silent: [2], preemptive: false });
    await c.until(greeted(c));
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("say that again"));
    await c.pass(500);
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("Two."));
    expect(c.state().errors).toMatchObject([{ code: "MODEL_TIMEOUT" }]);
    expect(c.server.refused).toEqual([]);
  });

  test("a fixed text that fails is asked for once more", async () => {
    const c = onTheLine({ fails: [1] });
    await c.until(greeted(c));
    expect(c.heard()).toBe(GREETING);
    expect(creates(c)).toBe(2);
  });

  test("a voice that stays silent ends the call with an error", async () => {
    const c = onTheLine({ silent: [1, 2, 3] });
    await c.until(() => c.far.isClosed(), 30_000);
    expect([c.state().ended_by, c.faults.at(-1)]).toEqual(["error", "SPEECH_FAILED"]);
  });

  test("an answer that fails: an apology", async () => {
    const c = onTheLine({ ...answering("One.", "Two."), fails: [2], preemptive: false });
    await c.until(greeted(c));
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("say that again"));
    expect(c.state().errors).toMatchObject([{ code: "MODEL_ERROR" }]);
  });

  test("a begun answer that fails is asked for again once it is wanted", async () => {
    const c = onTheLine({ ...answering("One."), fails: [2], stt_ms: 300 });
    await c.until(greeted(c));
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("One."));
    expect(c.state().errors).toEqual([]);
  });

  test("complaints are noted once by their code, without a word of what they quote; a task that is refused ends the call", async () => {
    const c = onTheLine({});
    await c.until(greeted(c));
    for (let i = 0; i < 5; i++)
      c.server.tell({
        type: "error",
        error: { type: "invalid_request_error", code: "odd thing: secret +14155550100", message: "secret" },
      });
    c.server.tell({ type: "error", error: { code: "response_cancel_not_active" } });
    await c.pass(40);
    expect(c.faults).toEqual(["REALTIME_ODD_THING_SECRET"]);
    c.server.tell({ type: "error", error: { code: "invalid_value", event_id: "session_1" } });
    await c.until(() => c.far.isClosed());
    expect([c.state().ended_by, c.faults[1]]).toEqual(["error", "REALTIME_INVALID_VALUE"]);
  });
});

describe("beside the conversation", () => {
  test("two reminders, then a goodbye", async () => {
    const c = onTheLine({}, { idle_ms: 4000 });
    await c.until(() => c.far.isClosed(), 40_000);
    expect(c.heard()).toContain("Are you still there? Are you still there? I can't hear you");
    expect(c.state()).toMatchObject({ ended_by: "timeout", idle_out: true });
  });

  test("a machine: silence until its beep, then the message to its end", async () => {
    const flow = testFlow({ voicemail_message: "This is Northwind. Please call us back." });
    const c = onTheLine(answering("Do you confirm?"), { flow, voicemail: "leave_message", tells_beep: false });
    await c.until(() => c.heard().includes("Good day"));
    c.tell({ type: "machine" });
    await c.say("Please leave a message after the tone.");
    await c.sound(beepPcm(500, 8000));
    const beeped = c.clock.monotonicMs();
    await c.until(() => c.firstSoundAfter(beeped) !== null, 1500);
    expect((c.firstSoundAfter(beeped) ?? Infinity) - beeped).toBeLessThanOrEqual(1000);
    await c.until(() => c.far.isClosed());
    expect(c.heard()).toContain("This is Northwind. Please call us back.");
    expect(c.state()).toMatchObject({ message_left: true });
  });

  test("what must not be interrupted is said to its end, and what was said meanwhile is attended to", async () => {
    const flow = testFlow({
      greeting: GREETING,
      nodes: [{ name: "ask", prompt: "Read the notice.", interruptible: false }],
      initial_node: "ask",
      global_functions: [],
    });
    const c = onTheLine(answering(LONG, "As I said."), { flow });
    await c.until(greeted(c));
    await c.say("Go on.");
    await c.until(() => c.heard().includes("on its way"));
    await c.sound(inTurn(encodeSpeech("Wait a moment, please.", 8000), silence(400)));
    await c.until(() => c.heard().includes("As I said."));
    expect([c.heard().includes(LONG), c.far.clears(), c.server.refused]).toEqual([true, 0, []]);
  });
});
