import { isEchoOf } from "../../../../services/conversation/pipelines/listening/echo-words.ts";
import { testFlow } from "../../../fixtures/flow-template.ts";
import { audioCall, type AudioCall } from "../../fixtures/audio-call.ts";

const LONG = "Your order is on its way and will be with you between nine and noon tomorrow morning, if that suits you.";

async function talking(): Promise<AudioCall> {
  const c = audioCall({
    flow: testFlow({ greeting: "Good day. Do you hear me?" }),
    reply: (turns) => ({ text: turns === 1 ? LONG : "Very well." }),
  });
  await c.until(() => c.heard().includes("hear me?"));
  await c.pass(800);
  await c.say("Where is it?");
  await c.until(() => c.heard().includes("on its way and"));
  return c;
}
const turns = (c: AudioCall): string[] => c.told.flatMap((event) => (event.type === "heard" ? [event.text] : []));

describe("our own words on the line", () => {
  test("are no turn and cut nothing while we speak", async () => {
    const c = await talking();
    await c.say("your order is on its way");
    await c.until(() => c.heard().includes("suits you."));
    await c.pass(1500);
    expect([turns(c), c.told.some(({ type }) => type === "interrupted")]).toEqual([["Where is it?"], false]);
  });

  test("are an answer once we have ended", async () => {
    const c = await talking();
    await c.until(() => c.heard().includes("suits you."));
    await c.pass(800);
    await c.say("Between nine and noon.");
    await c.until(() => c.heard().includes("Very well."));
    expect(turns(c).at(-1)).toBe("Between nine and noon.");
  });
});

describe("what an echo is", () => {
  test.each([
    ["your order is on its way", true],
    ["order is on it's way and will be", true],
    ["stop, not tomorrow morning please", false],
    ["tomorrow morning", false],
    ["the order of my way is you", false],
    ["", false],
  ])("%s: %s", (text, echo) => expect(isEchoOf(text, LONG)).toBe(echo));
});
