import { coughPcm } from "../../../local/speech/noises.ts";
import { audioCall, type AudioCall, type AudioCallOptions } from "../fixtures/audio-call.ts";
import type { RealtimeScript } from "../fixtures/realtime-script.ts";
import { ScriptedRealtime } from "../fixtures/scripted-realtime-model.ts";
import { call, testFlow } from "../../fixtures/flow-template.ts";
import { voice } from "../fixtures/sound.ts";

const LONG = "Your order is on its way and will be with you between nine and noon tomorrow morning, if that suits you.";
const GREETING = "Good day. Do you hear me?";
const FLOW = testFlow({ greeting: GREETING });

function onTheLine(
  script: Partial<RealtimeScript>,
  more: Partial<AudioCallOptions> = {},
): AudioCall & { server: ScriptedRealtime } {
  const server = new ScriptedRealtime({ reply: () => ({ text: "Yes?" }), ...script });
  return { ...audioCall({ flow: FLOW, reply: () => ({ text: "" }), processor: server.processor, ...more }), server };
}
const answering = (...texts: string[]): Pick<RealtimeScript, "reply"> => ({
  reply: (n) => ({ text: texts[n - 1] ?? "Yes?" }),
});
const greeted = (c: AudioCall) => () => c.heard().includes("hear me?");

describe.each(["ga", "beta"] as const)("a conversation with one model, dialect %s", (dialect) => {
  test("greeting, words, answer, function: both sides know the same", async () => {
    const c = onTheLine({
      dialect,
      reply: (n) => (n === 1 ? { text: "Do you confirm it?" } : { calls: [call("confirm")] }),
      stt_ms: 100,
      first_ms: 200,
      created_ms: 40,
    });
    await c.until(greeted(c));
    await c.pass(500);
    await c.say("Yes, I do.");
    await c.until(() => c.heard().includes("confirm it?"));
    await c.pass(400);
    await c.say("Yes, please.");
    await c.until(() => c.far.isClosed());
    expect(c.heard()).toBe(`${GREETING} Do you confirm it? Thank you, Ada. Goodbye!`);
    expect(c.transcript()).toEqual([
      `assistant: ${GREETING}`,
      "user: Yes, I do.",
      "assistant: Do you confirm it?",
      "user: Yes, please.",
      "assistant: Thank you, Ada. Goodbye!",
    ]);
    expect(c.server.texts().slice(0, 4)).toEqual([
      `spoken: ${GREETING}`,
      "user: Yes, I do.",
      "spoken: Do you confirm it?",
      "user: Yes, please.",
    ]);
    expect([c.state().ended_by, c.state().decided, c.faults, c.server.refused]).toEqual(["agent", "confirmed", [], []]);
    expect(c.server.closed).toBe(true);
  });
});

describe("what the server is told", () => {
  test("sound and voice once, before any sound; then the task, before the answer that needs it", async () => {
    const nodes = [
      { name: "ask", prompt: "Ask.", functions: [{ name: "next", description: "Go on.", next_node: "then" }] },
      { name: "then", prompt: "Say the rest." },
    ];
    const flow = testFlow({
      greeting: GREETING,
      nodes,
      initial_node: "ask",
      global_functions: [],
      do_not_call_function: false,
    });
    const c = onTheLine(
      {
        reply: () =>
          c.server.items.every((i) => i.kind !== "output") ? { calls: [call("next")] } : { text: "That is the rest." },
      },
      { flow },
    );
    await c.until(greeted(c));
    await c.say("Go on, please.");
    await c.until(() => c.heard().includes("the rest."));
    const [first, ask, then, ...none] = c.server
      .sentOf("session.update")
      .map((e) => e["session"] as Record<string, unknown>);
    const input = {
      format: { type: "audio/pcmu" },
      turn_detection: { create_response: false, interrupt_response: false },
    };
    expect(first).toMatchObject({
      type: "realtime",
      audio: { input, output: { format: { type: "audio/pcmu" }, voice: "v" } },
    });
    expect(ask).toMatchObject({ instructions: expect.stringContaining("Ask.") as string, tools: [{ name: "next" }] });
    expect([ask?.["audio"], then?.["audio"], none]).toEqual([undefined, undefined, []]);
    const order = c.server.sent.map((e) =>
      `${String(e["type"])} ${String((e["item"] as { type?: string } | undefined)?.type ?? "")}`.trim(),
    );
    expect(order.slice(-3)).toEqual([
      "session.update",
      "conversation.item.create function_call_output",
      "response.create",
    ]);
  });

  test("words that are typed reach the model as words, once, and are answered", async () => {
    const c = onTheLine(answering("I have noted Friday."));
    await c.until(greeted(c));
    c.far.type("Friday, please.");
    await c.until(() => c.heard().includes("noted Friday."));
    expect(c.server.texts()).toEqual([`spoken: ${GREETING}`, "keyed: Friday, please.", "spoken: I have noted Friday."]);
    expect(c.transcript()).toContain("user: Friday, please.");
  });

  test("keys go as words, once; what was said is not sent again", async () => {
    const c = onTheLine(answering("One.", "Two.", "Three."));
    await c.until(greeted(c));
    c.far.press("1");
    await c.until(() => c.heard().includes("One."));
    await c.pass(500);
    await c.say("And now?");
    await c.until(() => c.heard().includes("Two."));
    await c.pass(500);
    c.far.press("1");
    await c.until(() => c.heard().includes("Three."));
    expect(c.server.texts()).toEqual([
      `spoken: ${GREETING}`,
      "keyed: [keypad] 1",
      "spoken: One.",
      "user: And now?",
      "spoken: Two.",
      "keyed: [keypad] 1",
      "spoken: Three.",
    ]);
  });

  test("what functions gave back is told exactly once, however long the conversation", async () => {
    let calls = 0;
    const c = onTheLine({
      reply: (n) =>
        c.server.items.at(-1)?.kind === "output"
          ? { text: `Noted ${n}.` }
          : { calls: [call("note", { text: "x" }, `c_${++calls}`)] },
    });
    await c.until(greeted(c));
    for (let n = 1; n <= 30; n++) {
      await c.pass(300);
      await c.say("Note it.");
      await c.until(() => c.heard().includes(`Noted ${n}.`));
    }
    const outputs = c.server
      .sentOf("conversation.item.create")
      .flatMap((e) => (e["item"] as { call_id?: string }).call_id ?? []);
    expect(outputs).toEqual(Array.from({ length: 30 }, (_, i) => `c_${i + 1}`));
    expect(c.state().history.length).toBeLessThanOrEqual(80);
  });
});

describe("barge-in", () => {
  const talkedOver = async (script: Partial<RealtimeScript>) => {
    const c = onTheLine({ ...answering(LONG, "Noon, then."), stt_ms: 100, ...script });
    await c.until(greeted(c));
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("on its way"));
    const heardAt = c.clock.monotonicMs();
    const saying = c.say("Not before noon, please.");
    await c.until(() => c.far.clears() > 0, 1000);
    expect(c.clock.monotonicMs() - heardAt).toBeLessThanOrEqual(450);
    const began = c.firstSoundAfter(c.server.stops[0] ?? 0) ?? 0;
    const played = (c.lastSoundAt() ?? 0) + 20 - began;
    await saying;
    await c.until(() => c.heard().includes("Noon, then."));
    return { c, played };
  };

  const MADE: [string, Partial<RealtimeScript>][] = [
    ["made long before it is heard", {}],
    ["still being made", { piece_every_ms: 100 }],
  ];
  test.each(MADE)(
    "an answer %s: cut, and the server knows what was heard of it within 60 ms",
    async (_what, script) => {
      const { c, played } = await talkedOver(script);
      const cut = c.server.items.filter((i) => i.heard_ms !== null);
      expect(cut).toHaveLength(1);
      expect(Math.abs((cut[0]?.heard_ms ?? 0) - played)).toBeLessThanOrEqual(60);
      const said = c.transcript()[2]?.replace("assistant: ", "") ?? "";
      expect([LONG.startsWith(said), said.length < LONG.length, said.length > 0]).toEqual([true, true, true]);
      expect(c.transcript().slice(3)).toEqual(["user: Not before noon, please.", "assistant: Noon, then."]);
      expect([c.server.refused, c.faults]).toEqual([[], []]);
    },
  );

  test("several items of one answer are one utterance: the one that was cut is cut, the one that was not begun goes", async () => {
    const { c } = await talkedOver({
      reply: (n) =>
        n === 1
          ? { items: ["Your order is on its way to you now, dear.", " It comes between nine and noon."] }
          : { text: "Noon, then." },
    });
    expect(c.server.texts()).toEqual([
      `spoken: ${GREETING}`,
      "user: Where is it?",
      "spoken: Your order is on its way to you now, dear.",
      "user: Not before noon, please.",
      "spoken: Noon, then.",
    ]);
    expect(c.server.refused).toEqual([]);
  });

  test("a cough does not stop us, a laugh of 400 ms does for a moment: we go on, nothing is cut at the server, and the laugh leaves its conversation", async () => {
    const c = onTheLine({ ...answering(LONG), stt_ms: 100 });
    await c.until(greeted(c));
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
    expect(c.server.sentOf("conversation.item.truncate")).toEqual([]);
    expect(c.server.texts()).toEqual([`spoken: ${GREETING}`, "user: Where is it?", `spoken: ${LONG}`]);
  });

  test("a backchannel neither cuts nor stays", async () => {
    const c = onTheLine(answering(LONG));
    await c.until(greeted(c));
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("on its way"));
    await c.say("uh-huh");
    await c.until(() => c.heard().includes("suits you."));
    await c.pass(1500);
    expect(c.told.filter((e) => e.type === "heard" || e.type === "interrupted")).toHaveLength(1);
    expect(c.server.texts()).toEqual([`spoken: ${GREETING}`, "user: Where is it?", `spoken: ${LONG}`]);
  });
});
