import { describe, expect, test } from "@jest/globals";
import { phrasesFor } from "../../../shared/phrases.ts";
import type { SpeechModel } from "../../../services/conversation/providers/port.ts";
import { speechCache } from "../../../services/conversation/providers/tts/speech-cache.ts";
import { speechWithFailover } from "../../../services/conversation/providers/tts/speech-failover.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const forever = new AbortController().signal;
const turnOver = () =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** A model that speaks four bytes a letter, two letters at a time, each step when it is told to. */
function scripted({ signature = "m", held = false } = {}) {
  const asked: { text: string; signal: AbortSignal }[] = [];
  const gates: (() => void)[] = [];
  const failing: Error[] = [];
  const model: SpeechModel = {
    rate: 8000,
    signature,
    async *speak(text, signal) {
      asked.push({ text, signal });
      for (let at = 0; at < text.length; at += 2) {
        if (held)
          await new Promise<void>((resolve) => {
            gates.push(resolve);
            signal.addEventListener("abort", () => resolve(), { once: true });
          });
        const fault = failing.shift();
        if (fault) throw fault;
        if (signal.aborted) throw new Error("taken back");
        yield Int16Array.from(
          text
            .slice(at, at + 2)
            .split("")
            .flatMap((c) => [c.charCodeAt(0), 0]),
        );
      }
    },
  };
  return {
    asked,
    model,
    failing,
    step: async () => {
      gates.shift()?.();
      await turnOver();
    },
  };
}
const heard = async (model: SpeechModel, text: string, signal = forever): Promise<string> => {
  let said = "";
  for await (const pcm of model.speak(text, signal))
    said += String.fromCharCode(...pcm.filter((sample) => sample !== 0));
  return said;
};

describe("cached sentences", () => {
  test("a sentence is synthesised once and played as often as requested", async () => {
    const s = scripted();
    const speech = speechCache().of(s.model);
    expect([await heard(speech, "Hello"), await heard(speech, "Hello"), await heard(speech, "Bye")]).toEqual([
      "Hello",
      "Hello",
      "Bye",
    ]);
    expect(s.asked.map((a) => a.text)).toEqual(["Hello", "Bye"]);
    expect([speech.rate, speech.signature]).toEqual([8000, "m"]);
  });
  test("two voices are not taken for each other", async () => {
    const cache = speechCache();
    const [a, b] = [scripted({ signature: "a" }), scripted({ signature: "b" })];
    await heard(cache.of(a.model), "Hello");
    await heard(cache.of(b.model), "Hello");
    await heard(cache.of(b.model), "Hello");
    expect([a.asked.length, b.asked.length]).toEqual([1, 1]);
  });
  test("who asks while it is on its way listens from the beginning", async () => {
    const s = scripted({ held: true });
    const speech = speechCache().of(s.model);
    const first = heard(speech, "Hello!");
    await turnOver();
    await s.step();
    const second = heard(speech, "Hello!");
    for (let i = 0; i < 3; i++) {
      await turnOver();
      await s.step();
    }
    expect([await first, await second]).toEqual(["Hello!", "Hello!"]);
    expect(s.asked.length).toBe(1);
  });
  test("one of two listeners may leave; when both have left the synthesis is cancelled and not cached", async () => {
    const s = scripted({ held: true });
    const cache = speechCache();
    const speech = cache.of(s.model);
    const [one, two] = [new AbortController(), new AbortController()];
    const gone = Promise.all(
      [one, two].map((a) => expect(heard(speech, "Hello!", a.signal)).rejects.toMatchObject({ code: "MODEL_ABORTED" })),
    );
    await turnOver();
    one.abort();
    await turnOver();
    expect(s.asked[0]?.signal.aborted).toBe(false);
    two.abort();
    await gone;
    await turnOver();
    expect([s.asked[0]?.signal.aborted, cache.size()]).toEqual([true, 0]);
    const again = heard(speech, "Hello!");
    for (let i = 0; i < 4; i++) {
      await turnOver();
      await s.step();
    }
    expect(await again).toBe("Hello!");
    expect(s.asked.length).toBe(2);
  });
  test("who stops listening without a word lets it go too", async () => {
    const s = scripted({ held: true });
    const sound = speechCache().of(s.model).speak("Hello!", forever)[Symbol.asyncIterator]();
    const first = sound.next();
    await turnOver();
    await s.step();
    await first;
    await sound.return?.();
    expect(s.asked[0]?.signal.aborted).toBe(true);
  });
  test("a failure reaches all listeners; the next request synthesises anew", async () => {
    const s = scripted();
    s.failing.push(new Error("down"));
    const speech = speechCache().of(s.model);
    await Promise.all([1, 2].map(() => expect(heard(speech, "Hello")).rejects.toThrow("down")));
    expect(await heard(speech, "Hello")).toBe("Hello");
    expect(s.asked.length).toBe(2);
  });
  test("no more is kept than fits; what was not asked for the longest goes first, and what is very long is not kept", async () => {
    const s = scripted();
    const cache = speechCache({ max_bytes: 80 });
    const speech = cache.of(s.model);
    for (const text of ["aaaa", "bbbb", "cccc", "dddd", "eeee"]) await heard(speech, text); // 16 bytes each
    await heard(speech, "aaaa");
    await heard(speech, "ffff");
    expect(cache.size()).toBe(80);
    s.asked.length = 0;
    for (const text of ["aaaa", "bbbb", "too long to keep", "too long to keep"]) await heard(speech, text);
    expect(s.asked.map((a) => a.text)).toEqual(["bbbb", "too long to keep", "too long to keep"]);
  });
  test("warmed, a sentence is there at once; a fault is left for the one who says it", async () => {
    const s = scripted();
    s.failing.push(new Error("down"));
    const speech = speechWithFailover(speechCache().of(s.model), speechCache().of(scripted().model), virtualClock());
    await speech.warm?.("Hello");
    await speech.warm?.("Hello");
    await speech.warm?.("Hello");
    expect(s.asked.length).toBe(2);
    expect(await heard(speech, "Hello")).toBe("Hello");
    expect(s.asked.length).toBe(2);
  });
});

test.each([
  ["en-GB", "One moment, please."],
  ["de", "Einen Moment, bitte."],
  ["hi_IN", "एक क्षण, कृपया।"],
  ["xx", "One moment, please."],
])("while somebody waits, in %s", (language, said) => {
  expect(phrasesFor(language).fillers[0]).toBe(said);
});
