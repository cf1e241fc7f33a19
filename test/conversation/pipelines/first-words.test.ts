import { unheardSentences } from "../../../services/conversation/dialogue/opening-notice.ts";
import { testFlow } from "../../fixtures/flow-template.ts";
import { audioCall, type AudioCall, type AudioCallOptions } from "../fixtures/audio-call.ts";

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
