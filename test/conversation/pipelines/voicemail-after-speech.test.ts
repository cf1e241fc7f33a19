import { audioCall } from "../fixtures/audio-call.ts";
import { testFlow } from "../../fixtures/flow-template.ts";

const GREETING = "Good day, this is a long greeting for a person who is to hear all of it.";
const MESSAGE = "Please call us back.";
const answered = (greeting: string) =>
  audioCall({
    flow: testFlow({ greeting, voicemail_message: MESSAGE }),
    reply: () => ({ text: "Do you confirm it?" }),
    voicemail: "leave_message",
  });

describe("a machine that took the call while we were speaking", () => {
  test("the transcript holds what was said until then, and the message", async () => {
    const c = answered(GREETING);
    await c.pass(1500);
    c.tell({ type: "machine" });
    await c.pass(500);
    c.tell({ type: "beep" });
    await c.until(() => c.far.isClosed());
    const [greeting = "", message] = c.transcript();
    expect(GREETING.startsWith(greeting.replace("assistant: ", ""))).toBe(true);
    expect([
      greeting.length < GREETING.length,
      c.heard().includes("all of it"),
      message,
      c.transcript().length,
    ]).toEqual([true, false, `assistant: ${MESSAGE}`, 2]);
  });

  test("what had been heard to its end stays", async () => {
    const c = answered("Good day?");
    await c.until(() => c.heard().includes("day?"));
    await c.pass(1000);
    c.tell({ type: "machine" });
    c.tell({ type: "beep" });
    await c.until(() => c.far.isClosed());
    expect(c.transcript()).toEqual(["assistant: Good day?", `assistant: ${MESSAGE}`]);
  });
});
