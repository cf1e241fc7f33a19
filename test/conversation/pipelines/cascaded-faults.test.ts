import { audioCall, type SimReply, type AudioCallOptions } from "../fixtures/audio-call.ts";
import { testFlow } from "../../fixtures/flow-template.ts";

const LONG = "Your order is on its way and will be with you between nine and noon tomorrow morning, if that suits you.";
const onTheLine = (reply: AudioCallOptions["reply"], more: Partial<AudioCallOptions> = {}) =>
  audioCall({ flow: testFlow({ greeting: "Good day. Do you hear me?" }), reply, ...more });
const answering =
  (...texts: string[]) =>
  (n: number): SimReply => ({ text: texts[n - 1] ?? "Yes?" });
const quiet = (c: ReturnType<typeof audioCall>) => () => !c.far.waiting() && c.heard() !== "";

describe("what fails", () => {
  test("a voice that gives nothing ends the call with an error that says so", async () => {
    const c = onTheLine(answering("Well?"), {
      speech: { speak: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error("no")) }) }) },
    });
    await c.until(() => c.far.isClosed());
    expect(c.state()).toMatchObject({ ended_by: "error", errors: [{ code: "SPEECH_FAILED" }] });
  });

  test("an ear that gives nothing: asked to say it again once, then the call is ended politely", async () => {
    const deaf = {
      open: () => ({ push: () => undefined, text: () => Promise.reject(new Error("no")), close: () => undefined }),
    };
    const c = onTheLine(answering("Well?"), { transcription: deaf });
    await c.until(() => c.heard().includes("hear me?"));
    await c.pass(300);
    await c.say("Yes, I hear you.");
    await c.until(() => c.heard().includes("say that again"));
    await c.pass(2000);
    await c.say("I said yes.");
    await c.until(() => c.far.isClosed());
    expect(c.state()).toMatchObject({ ended_by: "error", errors: [{ code: "MODEL_ERROR" }, { code: "MODEL_ERROR" }] });
  });

  test("a filler is said once where the model takes its time, and is no word of the conversation", async () => {
    const c = onTheLine(answering("Here it is, Ada."), {
      delays: { first_token: 3000 },
      fillers: ["One moment, please."],
    });
    await c.until(() => c.heard().includes("hear me?"));
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("Here it is,"));
    expect(c.heard().match(/One moment/g)).toHaveLength(1);
    expect(c.transcript().join()).not.toContain("One moment");
  });

  test("the caller hangs up in mid-sentence: the transcript holds what they heard", async () => {
    const c = onTheLine(answering(LONG));
    await c.until(() => c.heard().includes("hear me?"));
    await c.say("Where is it?");
    await c.until(() => c.heard().includes("on its way"));
    c.far.hangUp();
    await c.pass(200);
    const said = c.transcript().at(-1)?.replace("assistant: ", "") ?? "";
    expect([LONG.startsWith(said), said.length < LONG.length, c.state().ended_by]).toEqual([true, true, "customer"]);
  });
});

test.each(["greeting", "quiet"])("nothing is left running after %s", async () => {
  const c = onTheLine(answering("Well?"));
  await c.until(quiet(c));
  c.voice.closeLeg();
  await c.pass(3000);
  await c.voice.closed;
});
