import { expect, test } from "@jest/globals";
import { shareFound } from "../../real/browsers/alike-sounds.ts";

const RATE = 2000;
const SECOND = RATE;
/** Sound that is like nothing else: noise of a generator, so that each run has the same. */
function noise(samples: number, seed: number): Int16Array {
  let state = seed;
  return Int16Array.from({ length: samples }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state / 2 ** 32 - 0.5) * 16_000;
  });
}
const SAID = noise(2 * SECOND, 7);
const SILENCE = new Int16Array(SECOND / 2);
const joined = (...parts: Int16Array[]): Int16Array => Int16Array.from(parts.flatMap((part) => [...part]));

test("a sound is found where it was said, a little quieter too", () => {
  expect(shareFound(SAID, joined(SILENCE, SAID, SILENCE), RATE)).toBe(1);
  expect(shareFound(joined(SILENCE, SAID, SILENCE), joined(SILENCE, SAID), RATE)).toBeGreaterThan(0.75);
  expect(shareFound(SILENCE, SAID, RATE)).toBe(0);
  expect(
    shareFound(
      SAID,
      joined(
        SILENCE,
        SAID.map((x) => x * 0.8),
      ),
      RATE,
    ),
  ).toBe(1);
  // a few samples less between two pieces
  expect(shareFound(SAID, joined(SILENCE, SAID.subarray(0, 800), SAID.subarray(806)), RATE)).toBe(1);
});
test("a hole in it costs the piece that it is in; what is another sound, in another order, or missing is not found", () => {
  const [head, tail] = [SAID.subarray(0, 1000), SAID.subarray(1000)];
  expect(shareFound(SAID, joined(SILENCE, head, new Int16Array(200), tail), RATE)).toBe(0.8);
  expect(shareFound(SAID, joined(SILENCE, noise(2 * SECOND, 8)), RATE)).toBe(0);
  expect(shareFound(SAID, joined(SAID.subarray(SECOND), SAID.subarray(0, SECOND)), RATE)).toBeLessThan(0.75);
  expect(shareFound(SAID, SILENCE, RATE)).toBe(0);
});
