import { bigramModel, wordsIn } from "../../../local/bench/speech/language-model.ts";
import { activeLevel, atLevel } from "../../../local/bench/speech/levels.ts";
import { noiseOf, NOISES } from "../../../local/bench/speech/noise-corpus.ts";
import type { Spoken } from "../../../local/bench/speech/spoken.ts";
import { MESSAGE } from "../../../local/bench/speech/texts.ts";
import { heardShare, holesMs, placeOf, wordErrors } from "../../../local/bench/speech/verdicts.ts";
import { noisePcm } from "../../../local/speech/noises.ts";
import { inTurn, tone } from "../../conversation/fixtures/sound.ts";

const FRAME = 160;
const framesOf = (pcm: Int16Array): Int16Array[] =>
  Array.from({ length: Math.floor(pcm.length / FRAME) }, (_, n) => pcm.slice(n * FRAME, (n + 1) * FRAME));
/** Sound of which every block is another. */
const SOUND = inTurn(...Array.from({ length: 20 }, (_, n) => noisePcm(100, 8000, -20, n)));
const spoken: Spoken = {
  telephone: (_, text) => Promise.resolve(tone({ ms: 40 * text.length, hz: 300 + 10 * text.length })),
  model: (_, text) => Promise.resolve(tone({ ms: 40 * text.length, rate: 24_000 })),
};

describe("what a line is judged by", () => {
  test("words: put in, left out and exchanged count, capitals and marks do not", () => {
    expect(wordErrors("Yes, please confirm it.", "yes please confirm it")).toEqual({ errors: 0, words: 4 });
    expect(wordErrors("Yes, please confirm it.", "Please conform it now")).toEqual({ errors: 3, words: 4 });
    expect(wordErrors("Yes, please.", "")).toEqual({ errors: 2, words: 2 });
    expect(wordErrors("", "thank you")).toEqual({ errors: 2, words: 0 });
  });

  test("a piece of the stream is found where it was sent, and what was never sent is not", () => {
    const frames = framesOf(SOUND);
    const piece = SOUND.slice(30 * FRAME, 50 * FRAME);
    expect(placeOf(piece, frames, frames.length)).toEqual({ from: 30 * FRAME, to: 50 * FRAME });
    expect(placeOf(noisePcm(400, 8000, -20, 99), frames, frames.length)).toBeNull();
  });

  test("heard: all of it, with a pause in it, its first half, said again from the beginning, and nothing", () => {
    const [half, whole] = [SOUND.slice(0, SOUND.length / 2), SOUND];
    const pause = Array.from({ length: 25 }, () => null);
    expect(heardShare(whole, framesOf(whole))).toBe(1);
    expect(heardShare(whole, [...framesOf(half), ...pause, ...framesOf(whole.slice(half.length))])).toBe(1);
    expect(heardShare(whole, framesOf(half))).toBeCloseTo(0.5, 1);
    expect(heardShare(whole, [...framesOf(half), ...pause, ...framesOf(whole)])).toBe(1);
    expect(heardShare(whole, pause)).toBe(0);
    expect(heardShare(whole, framesOf(atLevel(whole, -40)))).toBe(1);
  });

  test("a hole is where nothing was to be played in between; silence before and after is none", () => {
    const [sound, gap] = [framesOf(SOUND), [null, null, null]];
    expect(holesMs([...gap, ...sound, ...gap, ...sound, ...gap], 0, Infinity)).toBe(60);
  });

  test("the message has the 87 words that the table speaks of", () => {
    expect(MESSAGE.join(" ").split(" ")).toHaveLength(87);
  });
});

describe("what is on a line", () => {
  test("every noise is the same for the same seed, has its level and does not end early", async () => {
    for (const name of NOISES) {
      const pcm = await noiseOf(name, -30, 12, { spoken, seed: 3 });
      expect([name, pcm.length]).toEqual([name, 96_000]);
      expect(pcm).toEqual(await noiseOf(name, -30, 12, { spoken, seed: 3 }));
      expect(Math.abs(activeLevel(pcm) + 30)).toBeLessThan(6);
    }
  });

  test("an unknown noise is refused by its name", async () => {
    await expect(noiseOf("thunder", -30, 1, { spoken, seed: 1 })).rejects.toThrow('there is no noise "thunder"');
  });
});

describe("the recogniser's language", () => {
  test("words as a dictionary writes them", () => {
    expect(wordsIn("No, I'd like 2 more!")).toEqual(["no", "i'd", "like", "more"]);
  });

  test("successors of a word share what is not left to others, and counts are as they are announced", () => {
    const model = bigramModel(["Yes please.", "Yes thanks."]);
    expect(model).toContain("ngram 1=5\nngram 2=5");
    // six tenths for two successors
    expect(model).toContain(`${Math.log10(0.3).toFixed(4)} yes please`);
    expect(model.split("\n").filter((line) => /^-?\d/.test(line))).toHaveLength(10);
  });
});
