import { beepPcm, coughPcm } from "../../../local/speech/noises.ts";
import { audioCall, type SimReply, type AudioCallOptions } from "../fixtures/audio-call.ts";
import { call, testFlow } from "../../fixtures/flow-template.ts";
import { voice } from "../fixtures/sound.ts";

const LONG = "Your order is on its way and will be with you between nine and noon tomorrow morning, if that suits you.";
const onTheLine = (reply: AudioCallOptions["reply"], more: Partial<AudioCallOptions> = {}) =>
  audioCall({ flow: testFlow({ greeting: "Good day. Do you hear me?" }), reply, ...more });
const answering =
  (...texts: string[]) =>
  (n: number): SimReply => ({ text: texts[n - 1] ?? "Yes?" });

describe("a conversation over audio", () => {
  test("greeting, words, answer: what was said is what was heard, on both sides", async () => {
    const c = onTheLine((n) => (n === 1 ? { text: "Do you confirm it?" } : { calls: [call("confirm")] }));
    await c.until(() => c.heard().includes("hear me?"));
    await c.pass(500);
    await c.say("Yes, I do.");
    await c.until(() => c.heard().includes("confirm it?"));
    await c.pass(400);
    await c.say("Yes, please.");
    await c.until(() => c.far.isClosed());
    expect(c.heard()).toBe("Good day. Do you hear me? Do you confirm it? Thank you, Ada. Goodbye!");
    expect(c.transcript()).toEqual([
      "assistant: Good day. Do you hear me?",
      "user: Yes, I do.",
      "assistant: Do you confirm it?",
      "user: Yes, please.",
      "assistant: Thank you, Ada. Goodbye!",
    ]);
    expect([c.state().ended_by, c.state().decided, c.faults]).toEqual(["agent", "confirmed", []]);
  });

  test("the first clause is spoken while the model still writes the rest", async () => {
    const c = onTheLine(answering("Very well, Ada. I will look that up for you and come back at once."), {
      delays: { token: 200 },
    });
    await c.until(() => c.heard().includes("hear me?"));
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("Very well,"));
    expect(c.state().mode).toBe("thinking");
  });
});

describe("the end of a turn", () => {
  const turnAfter = async (more: Partial<AudioCallOptions>): Promise<number> => {
    const c = onTheLine(answering("Certainly, Ada, that is fine."), {
      delays: { stt: 100, first_token: 250, first_audio: 120 },
      ...more,
    });
    await c.until(() => c.heard().includes("hear me?"));
    await c.pass(500);
    await c.say("Yes, please confirm today.");
    const ended = c.clock.monotonicMs();
    await c.until(() => c.firstSoundAfter(ended) !== null);
    return (c.firstSoundAfter(ended) ?? Infinity) - ended;
  };

  test("an answer begins within endpointing plus the models' own delays, and sooner where the generation is begun before", async () => {
    const sure = await turnAfter({ preemptive: false });
    const early = await turnAfter({ preemptive: true });
    expect(sure).toBeLessThanOrEqual(300 + 470 + 100);
    expect(sure - early).toBeGreaterThanOrEqual(80);
  });

  test("a caller who pauses in mid-sentence is waited for, and the generation begun for the first half is taken back", async () => {
    const c = onTheLine(answering("I see."), { delays: { first_token: 1500 } });
    await c.until(() => c.heard().includes("hear me?"));
    await c.pass(300);
    await c.say("I would like it on");
    await c.pass(900);
    await c.say("Friday, please.");
    await c.until(() => c.heard().includes("I see."));
    expect(c.told.filter((e) => e.type === "heard")).toMatchObject([{ text: "I would like it on Friday, please." }]);
    expect(c.aborted.chat).toBe(c.asked.length - 1);
  });

  test("a generation begun early is asked once, not again when the turn is certain", async () => {
    const c = onTheLine(answering("I see."));
    await c.until(() => c.heard().includes("hear me?"));
    await c.say("It is fine.");
    await c.until(() => c.heard().includes("I see."));
    expect([c.asked.length, c.aborted.chat]).toEqual([1, 0]);
  });
});

describe("barge-in", () => {
  test("speech over ours: silence at the carrier within 450 ms, and only what was heard is in the transcript", async () => {
    const c = onTheLine(answering(LONG, "Noon, then."), { delays: { stt: 100, token: 20 } });
    await c.until(() => c.heard().includes("hear me?"));
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("on its way"));
    const onset = c.clock.monotonicMs();
    const saying = c.say("Not before noon, please.");
    await c.until(() => c.far.clears() > 0, 1000);
    expect(c.clock.monotonicMs() - onset).toBeLessThanOrEqual(450);
    await saying;
    await c.until(() => c.heard().includes("Noon, then."));
    const said = c.transcript()[2]?.replace("assistant: ", "") ?? "";
    const heard = c.heard().replace("Good day. Do you hear me? ", "").replace(" Noon, then.", "");
    expect(LONG.startsWith(said)).toBe(true);
    expect(Math.abs(said.split(" ").length - heard.split(" ").length)).toBeLessThanOrEqual(1);
    expect(c.transcript().slice(3)).toEqual(["user: Not before noon, please.", "assistant: Noon, then."]);
    expect(c.aborted.speech).toBeLessThanOrEqual(1);
  });

  test("the model's request is let go when it is interrupted", async () => {
    const c = onTheLine((n) => (n === 1 ? { text: `${LONG} ${LONG} ${LONG}` } : { text: "All right." }), {
      delays: { token: 400 },
    });
    await c.until(() => c.heard().includes("hear me?"));
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("on its way"));
    expect(c.state().mode).toBe("thinking");
    await c.say("Stop, please stop.");
    await c.until(() => c.heard().includes("All right."));
    expect(c.aborted.chat).toBe(1);
  });

  test("a cough does not stop us, a laugh of 400 ms does for a moment: we go on within 2.3 s, and say it to the end", async () => {
    const c = onTheLine(answering(LONG));
    await c.until(() => c.heard().includes("hear me?"));
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("on its way"));
    await c.sound(coughPcm(350, 8000, 7));
    expect(c.far.clears()).toBe(0);
    const laughed = c.clock.monotonicMs();
    await c.sound(voice({ ms: 400 }));
    expect(c.far.clears()).toBe(1);
    await c.until(() => (c.firstSoundAfter(laughed + 700) ?? 0) > 0, 3000);
    expect((c.firstSoundAfter(laughed + 700) ?? Infinity) - laughed).toBeLessThanOrEqual(2300);
    await c.until(() => c.heard().includes("suits you."));
    await c.pass(1500);
    expect(c.transcript().at(-1)).toBe(`assistant: ${LONG}`);
    expect(c.told.some((e) => e.type === "interrupted")).toBe(false);
  });

  test("a backchannel does not cut", async () => {
    const c = onTheLine(answering(LONG));
    await c.until(() => c.heard().includes("hear me?"));
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("on its way"));
    await c.say("uh-huh");
    await c.until(() => c.heard().includes("suits you."));
    await c.pass(1500);
    expect(c.told.filter((e) => e.type === "heard" || e.type === "interrupted")).toHaveLength(1);
  });

  test("a backchannel is an answer where a question has been heard, even while we still speak", async () => {
    const c = onTheLine(answering(`Do you confirm it? ${LONG}`, "Very well."));
    await c.until(() => c.heard().includes("hear me?"));
    await c.say("Go on.");
    await c.until(() => c.heard().includes("your order") || c.heard().includes("Your order"));
    await c.say("Yes.");
    await c.until(() => c.heard().includes("Very well."));
    expect(c.transcript().slice(-2)).toEqual(["user: Yes.", "assistant: Very well."]);
    expect(c.heard()).not.toContain("suits you");
  });

  test("what must not be interrupted is said to its end, and what was said meanwhile is attended to", async () => {
    const flow = testFlow({
      greeting: "Good day. Do you hear me?",
      nodes: [{ name: "ask", prompt: "Read the notice.", interruptible: false }],
      initial_node: "ask",
      global_functions: [],
    });
    const c = audioCall({ flow, reply: answering(LONG, "As I said.") });
    await c.until(() => c.heard().includes("hear me?"));
    await c.say("Go on.");
    await c.until(() => c.heard().includes("on its way"));
    await c.say("Wait a moment, please.");
    await c.until(() => c.heard().includes("As I said."));
    expect(c.heard()).toContain(LONG);
    expect(c.far.clears()).toBe(0);
  });
});

describe("silence", () => {
  test("two reminders, counted from the end of our speech, then a goodbye", async () => {
    const c = onTheLine(answering("Well?"), { idle_ms: 4000 });
    await c.until(() => c.far.isClosed(), 40_000);
    expect(c.told.filter((e) => e.type === "idle")).toHaveLength(3);
    expect(c.heard()).toContain("Are you still there? Are you still there? I can't hear you");
    expect(c.state()).toMatchObject({ ended_by: "timeout", idle_out: true });
  });

  test("noise without words is no answer and no reason to think", async () => {
    const c = onTheLine(answering("Well?"));
    await c.until(() => c.heard().includes("hear me?"));
    await c.pass(500);
    await c.sound(coughPcm(600, 8000, 3));
    await c.pass(2000);
    expect([c.asked.length, c.told.some((e) => e.type === "heard")]).toEqual([0, false]);
  });
});

/** Calls the function, and says so when it is back. */
function pressing(): AudioCallOptions["reply"] {
  let asked = 0;
  return () => (asked++ === 0 ? { calls: [call("press")] } : { text: "Done." });
}

describe("the longest conversation", () => {
  test("what is being said is cut for the goodbye, which is heard whole", async () => {
    const c = onTheLine(answering(`${LONG} ${LONG}`));
    await c.until(() => c.heard().includes("hear me?"));
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("on its way"));
    const at = c.clock.monotonicMs();
    c.voice.interrupt?.();
    c.tell({ type: "time_up" });
    await c.until(() => c.far.isClosed());
    expect(c.clock.monotonicMs() - at).toBeLessThanOrEqual(5000);
    expect(c.heard()).toMatch(/on its way.{0,20} I am sorry, I have to end the call now\. Goodbye!$/);
    expect(c.state()).toMatchObject({ ended_by: "timeout", time_limit: true });
  });
});

describe("a carrier's frames", () => {
  test("that come late in a heap break no word", async () => {
    const c = onTheLine(answering("I see."));
    await c.until(() => c.heard().includes("hear me?"));
    await c.pass(300);
    const saying = c.say("It is fine with me.");
    await c.pass(0);
    c.stall(450);
    await saying;
    await c.until(() => c.heard().includes("I see."));
    expect(c.transcript()).toContain("user: It is fine with me.");
  });

  test("that are left out where there is silence are silence all the same", async () => {
    const c = onTheLine(answering("I see."), { idle_ms: 4000 });
    c.mute();
    await c.until(() => c.heard().includes("hear me?"));
    await c.pass(300);
    await c.say("It is fine.");
    await c.until(() => c.heard().includes("I see."), 5000);
    await c.until(() => c.heard().includes("still there?"), 10_000);
  });
});

describe("keys", () => {
  test("a key cuts what we say and counts as an answer", async () => {
    const c = onTheLine(answering("You pressed one."));
    await c.until(() => c.heard().includes("Good day."));
    c.far.press("1");
    await c.until(() => c.heard().includes("pressed one."));
    expect(c.transcript()).toContain("user: [keypad] 1");
  });

  test("words that are typed cut what we say and are a turn like spoken ones", async () => {
    const c = onTheLine(answering("I have noted Friday."));
    await c.until(() => c.heard().includes("Good day."));
    c.far.type("Friday, please.");
    await c.until(() => c.heard().includes("noted Friday."));
    expect(c.transcript()).toContain("user: Friday, please.");
  });

  test("keys towards the callee go as the leg's own message", async () => {
    const flow = testFlow({
      greeting: null,
      nodes: [
        {
          name: "ask",
          prompt: "Press.",
          functions: [{ name: "press", description: "Press.", action: "send_digits", digits: "12#" }],
        },
      ],
      initial_node: "ask",
      global_functions: [],
    });
    const c = audioCall({ flow, reply: pressing() });
    await c.until(() => c.heard().includes("Done."));
    expect(c.far.keys()).toEqual(["12#"]);
  });
});

describe("a machine", () => {
  test("silence until its beep, then the message, to its end, and the line is closed", async () => {
    const flow = testFlow({ voicemail_message: "This is Northwind. Please call us back." });
    const c = audioCall({ flow, reply: answering("Do you confirm?"), voicemail: "leave_message", tells_beep: false });
    await c.until(() => c.heard().includes("Good day"));
    c.tell({ type: "machine" });
    const clears = c.far.clears();
    const before = c.heard();
    await c.say("You have reached the mailbox. Please leave a message after the tone.");
    expect(c.heard().startsWith(before)).toBe(true);
    expect(c.heard().length - before.length).toBeLessThan(15);
    await c.sound(beepPcm(500, 8000));
    const beeped = c.clock.monotonicMs();
    await c.until(() => c.firstSoundAfter(beeped) !== null, 1500);
    expect((c.firstSoundAfter(beeped) ?? Infinity) - beeped).toBeLessThanOrEqual(1000);
    await c.until(() => c.far.isClosed());
    expect(c.heard()).toContain("This is Northwind. Please call us back.");
    expect(c.state()).toMatchObject({ message_left: true, voicemail: true });
    expect(clears).toBeGreaterThanOrEqual(0);
  });
});
