import { coughPcm } from "../../../local/speech/noises.ts";
import { unheardSentences } from "../../../services/conversation/dialogue/transcript.ts";
import { testFlow } from "../../fixtures/flow-template.ts";
import { audioCall, type AudioCall, type AudioCallOptions } from "../fixtures/audio-call.ts";
import { ScriptedRealtime } from "../fixtures/scripted-realtime-model.ts";

const GREETING = "Good day, this is the assistant of the parcel service. This call is recorded. I have a question.";
const QUESTION = "Is Monday a good day for you?";

const answered = (more: Partial<AudioCallOptions> = {}): AudioCall =>
  audioCall({
    flow: testFlow({
      greeting: GREETING,
      initial_node: "ask",
      global_functions: [],
      nodes: [{ name: "ask", prompt: "Ask." }],
    }),
    reply: (turns) => ({ text: turns === 0 ? QUESTION : "Very well." }),
    delays: { stt: 130, first_token: 150, first_audio: 70 },
    ...more,
  });
const turns = (c: AudioCall): string[] => c.told.flatMap((event) => (event.type === "heard" ? [event.text] : []));

describe("the first words of who picks up", () => {
  test.each([50, 300, 700, 1500])(
    '"Hello?" after %s ms is no turn, and the greeting is heard to its end',
    async (ms) => {
      const c = answered();
      await c.pass(ms);
      await c.say("Hello?");
      await c.until(() => c.heard().includes("day for you?"));
      await c.pass(2000);
      expect(turns(c)).toEqual([]);
      expect(c.transcript()).toEqual([`assistant: ${GREETING}`, `assistant: ${QUESTION}`]);
      expect(c.told.some(({ type }) => type === "interrupted")).toBe(false);
    },
  );

  test.each(["Yes.", "Yes, speaking.", "Hello, good morning."])("nor is %s", async (text) => {
    const c = answered();
    await c.until(() => c.heard().includes("assistant"));
    await c.say(text);
    await c.until(() => c.heard().includes("day for you?"));
    expect(turns(c)).toEqual([]);
  });

  test("once the question was heard, yes is its answer", async () => {
    const c = answered();
    await c.until(() => c.heard().includes("day for you?"));
    await c.pass(300);
    await c.say("Yes.");
    await c.until(() => c.heard().includes("Very well."));
    expect(turns(c)).toEqual(["Yes."]);
  });
});

describe("where the callee speaks first", () => {
  const flow = testFlow({
    greeting: GREETING,
    speaks_first: "callee",
    initial_node: "ask",
    global_functions: [],
    nodes: [{ name: "ask", prompt: "Ask." }],
  });
  const awaited = (more: Partial<AudioCallOptions> = {}): AudioCall =>
    answered({ flow, reply: () => ({ text: QUESTION }), ...more });

  test("the agent greets once they have picked up with a word, and that stands in the transcript", async () => {
    const c = awaited();
    await c.pass(1200);
    expect(c.heard()).toBe("");
    await c.say("Hello?");
    await c.until(() => c.heard().includes("for you?"));
    expect(c.transcript()).toEqual(["user: Hello?", `assistant: ${GREETING}`, `assistant: ${QUESTION}`]);
  });

  test("their second hello does not cut the greeting", async () => {
    const c = awaited();
    await c.say("Hello?");
    await c.until(() => c.heard().includes("assistant"));
    await c.say("Hello?");
    await c.until(() => c.heard().includes("for you?"));
    expect(c.transcript()).toEqual(["user: Hello?", `assistant: ${GREETING}`, `assistant: ${QUESTION}`]);
  });

  test("who says nothing is greeted after 2.5 s", async () => {
    const c = awaited();
    await c.until(() => c.firstSoundAfter(0) !== null);
    expect(c.firstSoundAfter(0)).toBeGreaterThanOrEqual(2500);
    expect(c.firstSoundAfter(0)).toBeLessThan(2800);
    await c.say("Hello?");
    await c.until(() => c.heard().includes("for you?"));
    expect(c.transcript()).toEqual([`assistant: ${GREETING}`, `assistant: ${QUESTION}`]);
  });

  test("sound without words delays it no longer than it takes to know that", async () => {
    const c = awaited();
    await c.pass(2000);
    await c.sound(coughPcm(900, 8000, 5));
    await c.until(() => c.heard().includes("Good"), 1500);
    expect(turns(c)).toEqual([]);
  });

  test("over the realtime model too", async () => {
    const server = new ScriptedRealtime({ reply: () => ({ text: QUESTION }), stt_ms: 100, first_ms: 150 });
    const c = awaited({ processor: server.processor });
    await c.pass(1200);
    await c.say("Hello?");
    await c.until(() => c.heard().includes("for you?"));
    expect(c.transcript()).toEqual(["user: Hello?", `assistant: ${GREETING}`, `assistant: ${QUESTION}`]);
  });
});

describe("who cuts the greeting", () => {
  const UNHEARD = "This call is recorded. I have a question.";
  const cutInto = async (c: AudioCall): Promise<void> => {
    await c.until(() => c.heard().includes("service."));
    await c.say("Who is there, please?");
    await c.until(() => c.told.some(({ type }) => type === "heard"));
  };
  const realtime = (): Partial<AudioCallOptions> => {
    const server = new ScriptedRealtime({ reply: () => ({ text: QUESTION }), stt_ms: 100, first_ms: 150 });
    return { processor: server.processor };
  };

  test.each([
    ["cascaded", { reply: () => ({ text: QUESTION }) }],
    ["realtime", realtime()],
  ])("hears what was not heard of it, and then the answer: %s", async (_, more) => {
    const c = answered(more);
    await cutInto(c);
    await c.until(() => c.heard().includes("for you?"));
    const [greeted, resaid, ...rest] = c.transcript();
    expect(greeted).toMatch(/^assistant: Good day, this is .*service\./);
    expect(greeted).not.toContain("recorded.");
    expect(resaid).toBe(`assistant: ${UNHEARD}`);
    expect(rest).toEqual(["user: Who is there, please?", `assistant: ${QUESTION}`]);
    expect(c.heard()).toContain(`${UNHEARD} ${QUESTION}`);
  });

  test.each([
    ["cascaded", { reply: () => ({ text: QUESTION }) }],
    ["realtime", realtime()],
  ])("can't cut that, and of all that is said behind it the transcript keeps what was heard: %s", async (_, more) => {
    const c = answered(more);
    await cutInto(c);
    await c.say("How are you?");
    await c.pass(200);
    await c.say("What do you want to know?");
    await c.until(() => c.heard().includes("Is Monday"));
    c.far.hangUp();
    await c.pass(1000);
    const ours = c.transcript().filter((line) => line.startsWith("assistant: "));
    expect(ours[1]).toBe(`assistant: ${UNHEARD}`);
    expect(ours.slice(2).join(" ")).toMatch(/^assistant: Is Monday[ a-z]*$/);
  });
});

describe("what was not heard of a greeting", () => {
  const text = "This is Mia. This call is recorded. Do you hear me?";
  test.each([
    ["", text],
    ["This is", text],
    ["This is Mia.", "This call is recorded. Do you hear me?"],
    ["This is Mia. This call is", "This call is recorded. Do you hear me?"],
    ["This is Mia. This call is recorded. Do", ""],
    [text, ""],
  ])("after %j: %j", (heard, rest) => expect(unheardSentences(text, heard)).toBe(rest));
});
