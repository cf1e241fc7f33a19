import { phrasesFor } from "../../../shared/phrases.ts";
import { ModelError, type SpeechModel } from "../../../services/conversation/providers/port.ts";
import {
  fixedTexts,
  openingTexts,
  speechCacheWarmer,
} from "../../../services/conversation/pipelines/cascaded/speech-cache-warmer.ts";
import { PAYLOAD, flowTemplate } from "../../fixtures/flow-template.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const turnOver = () => new Promise((resolve) => setImmediate(resolve));
const template = (say: string, greeting: string | null = " Good day from **{{shop}}**. ") =>
  flowTemplate({
    greeting,
    initial_node: "first",
    nodes: [
      { name: "first", say },
      { name: "bye", say: "Thank you 😀." },
    ],
  });

describe("what is spoken beforehand", () => {
  test("the opening as TTS output will ask for it: rendered, trimmed, plain", () => {
    expect(openingTexts(template("Hello {{customer}}!"), PAYLOAD)).toEqual(["Good day from Northwind.", "Hello Ada!"]);
    const marked = { ...PAYLOAD, customer: "**Ada** <think>🙂" };
    expect(openingTexts(template("# Hello {{customer}}!"), marked)).toEqual(["Good day from Northwind.", "Hello Ada!"]);
    expect(openingTexts(template("", null), PAYLOAD)).toEqual([]);
    expect(openingTexts(flowTemplate(), PAYLOAD)).toEqual(["Good day from Northwind."]);
  });
  test("not what the conversation has to find out first", () =>
    expect(openingTexts(template("So it is {{new_day}}."), PAYLOAD)).toEqual(["Good day from Northwind."]));
  test("the service's sentences and fillers, and the template's that name nothing", () => {
    const texts = fixedTexts(
      flowTemplate({
        language: "de-AT",
        greeting: "Guten Tag.",
        voicemail_message: "Hier ist {{shop}}.",
        nodes: [
          { name: "bye", say: "Thank you 😀." },
          { name: "you", say: "Hello {{customer}}!" },
        ],
      }),
    );
    expect(texts).toEqual(
      expect.arrayContaining([
        ...Object.values<string | readonly string[]>({ ...phrasesFor("de") }).flat(),
        "Einen Moment, bitte.",
        "Guten Tag.",
        "Thank you.",
      ]),
    );
    expect(texts.filter((text) => /Hello|Hier|undefined/.test(text))).toEqual([]);
  });
  test("at most 40, none longer than 1,000 characters", () => {
    const nodes = Array.from({ length: 200 }, (_, i) => ({
      name: `n${i}`,
      say: i === 0 ? "x".repeat(1001) : `Number ${i}.`,
    }));
    expect(fixedTexts(flowTemplate({ nodes }))).toHaveLength(40);
    expect(fixedTexts(flowTemplate({ nodes })).every((text) => text.length <= 1000)).toBe(true);
  });
});

describe("warming", () => {
  function model(): SpeechModel & { asked: string[]; free(): Promise<void> } {
    const waiting: (() => void)[] = [];
    const asked: string[] = [];
    return {
      rate: 8000,
      signature: "voice",
      asked,
      speak: () => {
        throw new Error("not asked");
      },
      warm: (text) => {
        asked.push(text);
        return new Promise((resolve) => waiting.push(resolve));
      },
      async free() {
        for (const resolve of waiting.splice(0)) resolve();
        await turnOver();
      },
    };
  }
  const other = (customer: string) => ({ ...PAYLOAD, customer });

  test("four at once, openings first, each text once", async () => {
    const speech = model();
    const warm = speechCacheWarmer({ clock: virtualClock(), speech: () => speech });
    const greeted = flowTemplate({ greeting: "Hello {{customer}}." });
    for (const name of ["Ada", "Ada", "Bo", "Cy", "Di", "Ed"]) warm.warm(greeted, other(name));
    expect(speech.asked[0]).toBe("Hello Ada.");
    expect(speech.asked).toHaveLength(4);
    await speech.free();
    expect(speech.asked.slice(4)).toEqual(["Hello Bo.", "Hello Cy.", "Hello Di.", "Hello Ed."]);
    for (let i = 0; i < 10; i++) await speech.free();
    expect(new Set(speech.asked).size).toBe(speech.asked.length);
    expect(speech.asked).toContain("Are you still there?");
  });
  test("the fixed texts of a template are looked after once a minute", async () => {
    const speech = model();
    const clock = virtualClock();
    const warm = speechCacheWarmer({ clock, speech: () => speech });
    const plain = flowTemplate();
    const counted = async () => {
      warm.warm(plain, PAYLOAD);
      for (let i = 0; i < 10; i++) await speech.free();
      return speech.asked.filter((text) => text === "Are you still there?").length;
    };
    expect([await counted(), await counted()]).toEqual([1, 1]);
    await clock.advance(60_000);
    expect(await counted()).toBe(2);
  });
  test("what waits is bounded, and a process that goes down begins nothing more", async () => {
    const speech = model();
    const warm = speechCacheWarmer({ clock: virtualClock(), speech: () => speech });
    for (let i = 0; i < 1000; i++) warm.warm(flowTemplate({ greeting: "Hello {{customer}}." }), other(`${i}`));
    for (let i = 0; i < 300; i++) await speech.free();
    expect(speech.asked.length).toBeLessThanOrEqual(404);
    for (let i = 0; i < 10; i++) warm.warm(flowTemplate({ greeting: "Bye {{customer}}." }), other(`${i}`));
    warm.close();
    warm.warm(flowTemplate(), PAYLOAD);
    const before = speech.asked.length;
    await speech.free();
    expect(speech.asked).toHaveLength(before);
  });
  test.each<[string, () => SpeechModel]>([
    [
      "there is none",
      () => {
        throw new ModelError("MODEL_REFUSED", "no", false);
      },
    ],
    [
      "it keeps nothing",
      () => {
        const { warm: _, ...plain } = model();
        return plain;
      },
    ],
    ["it fails", () => ({ ...model(), warm: () => Promise.reject(new Error("no")) })],
  ])("a model is no fault of the preparation: %s", async (_name, speech) => {
    expect(() => speechCacheWarmer({ clock: virtualClock(), speech }).warm(flowTemplate(), PAYLOAD)).not.toThrow();
    await turnOver();
  });
});
