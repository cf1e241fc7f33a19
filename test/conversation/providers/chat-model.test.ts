import { chatModel } from "../../../services/conversation/providers/llm/chat-model.ts";
import { ModelError, type ChatPiece, type ChatStream } from "../../../services/conversation/providers/port.ts";
import { virtualClock, type VirtualClock } from "../../fixtures/virtual-clock.ts";

const turnOver = () => new Promise((resolve) => setImmediate(resolve));

describe("asking the model", () => {
  const how = (signal = new AbortController().signal) => {
    const texts: string[] = [];
    return { texts, signal, onText: (t: string) => texts.push(t) };
  };
  const request = { messages: [], tools: [] };
  /** A stream that gives these pieces, waits for ever on "stall", throws errors. */
  const stream = (...tries: (ChatPiece | "stall" | Error)[][]): { opened: AbortSignal[]; open: ChatStream } => {
    const opened: AbortSignal[] = [];
    return {
      opened,
      open: async function* (_request, signal) {
        opened.push(signal);
        for (const piece of tries[opened.length - 1] ?? []) {
          if (piece instanceof Error) throw piece;
          if (piece === "stall") await new Promise(() => undefined);
          else yield piece;
        }
      },
    };
  };
  const text = (t: string): ChatPiece => ({ type: "text", text: t });
  const part = (index: number, id: string, name: string, args: string): ChatPiece => ({
    type: "call",
    index,
    id,
    name,
    arguments: args,
  });
  const late = async (clock: VirtualClock) => {
    await turnOver();
    await clock.advance(4001);
    await turnOver();
  };

  test("text is streamed, calls are put together in order, usage is counted", async () => {
    const clock = virtualClock();
    const s = stream([
      text("Hel"),
      part(1, "b", "second", "{}"),
      part(0, "a", "first", '{"x"'),
      text("lo"),
      part(0, "", "", ":1}"),
      { type: "usage", prompt_tokens: 9, completion_tokens: 4 },
    ]);
    const h = how();
    expect(await chatModel(s.open, clock).answer(request, h)).toMatchObject({
      text: "Hello",
      tries: 1,
      prompt_tokens: 9,
      completion_tokens: 4,
      calls: [
        { id: "a", name: "first", arguments: '{"x":1}' },
        { id: "b", name: "second", arguments: "{}" },
      ],
    });
    expect(h.texts).toEqual(["Hel", "lo"]);
  });
  test("a silent model is asked once more, then it has failed; requests are cancelled", async () => {
    const clock = virtualClock();
    const s = stream(["stall"], ["stall"]);
    const asked = chatModel(s.open, clock).answer(request, how());
    const failed = expect(asked).rejects.toMatchObject({ code: "MODEL_TIMEOUT" });
    await late(clock);
    expect(s.opened.map((o) => o.aborted)).toEqual([true, false]);
    await late(clock);
    await failed;
    expect(s.opened.map((o) => o.aborted)).toEqual([true, true]);
  });
  test("the second try may answer", async () => {
    const clock = virtualClock();
    const asked = chatModel(stream(["stall"], [text("Yes")]).open, clock).answer(request, how());
    await late(clock);
    expect(await asked).toMatchObject({ text: "Yes", tries: 2, first_token_ms: 4001 });
  });
  test("after the first token there is no second try", async () => {
    const clock = virtualClock();
    const s = stream([text("Hel"), "stall"], [text("Hello")]);
    const failed = expect(chatModel(s.open, clock).answer(request, how())).rejects.toMatchObject({
      code: "MODEL_TIMEOUT",
    });
    await late(clock);
    await failed;
    expect(s.opened.length).toBe(1);
  });
  test.each([
    ["what can't be helped is not tried again", new ModelError("MODEL_REFUSED", "401", false), 1, "MODEL_REFUSED"],
    ["what may pass is", new ModelError("MODEL_BUSY", "429", true), 2, "MODEL_BUSY"],
    ["an unknown error is", new Error("boom"), 2, "MODEL_ERROR"],
  ])("%s", async (_name, error, tries, code) => {
    const s = stream([error], [error]);
    await expect(chatModel(s.open, virtualClock()).answer(request, how())).rejects.toMatchObject({ code });
    expect(s.opened.length).toBe(tries);
  });
  test("taking the question back lets go at once, without a second try", async () => {
    const abort = new AbortController();
    const s = stream(["stall"], [text("x")]);
    const failed = expect(chatModel(s.open, virtualClock()).answer(request, how(abort.signal))).rejects.toMatchObject({
      code: "MODEL_ABORTED",
    });
    abort.abort();
    await failed;
    expect(s.opened.map((o) => o.aborted)).toEqual([true]);
  });
  test("an endless answer is cut", async () => {
    const endless: ChatStream = async function* () {
      for (;;) yield text("x".repeat(100));
    };
    expect((await chatModel(endless, virtualClock()).answer(request, how())).text.length).toBe(4000);
  });
});
