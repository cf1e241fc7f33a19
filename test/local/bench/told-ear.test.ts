import { toldEar, wordsWithin } from "../../../local/bench/speech/told-ear.ts";
import { noisePcm } from "../../../local/speech/noises.ts";

const FRAME = 160;
const SOUND = noisePcm(2000, 8000, -20, 3);
const frames = Array.from({ length: SOUND.length / FRAME }, (_, n) => SOUND.slice(n * FRAME, (n + 1) * FRAME));
/** Ten letters: each takes 0.1 s of the second second. */
const SAID = { text: "Yes, tomorrow.", from: 8000, to: 16_000 };

describe("an ear that is told what callers say", () => {
  test.each([
    ["all of it", 0, 16_000, "yes tomorrow"],
    ["before it", 0, 8000, ""],
    ["its first word", 6400, 10_400, "yes"],
    ["half of its second word is too little", 8000, 13_200, "yes"],
    ["most of its second word", 8000, 14_400, "yes tomorrow"],
    ["its end", 11_200, 16_000, "tomorrow"],
  ])("hears %s", async (_, from, to, words) => {
    const ear = toldEar(() => [{ sent: { frames }, utterances: [SAID] }]);
    expect(await ear.words(SOUND.slice(from, to))).toBe(words);
    expect(wordsWithin(SAID, { from, to }).join(" ")).toBe(words);
  });

  test("hears nothing in sound that no line sent", async () => {
    const ear = toldEar(() => [{ sent: { frames }, utterances: [SAID] }]);
    expect(await ear.words(noisePcm(500, 8000, -20, 99))).toBe("");
  });
});
