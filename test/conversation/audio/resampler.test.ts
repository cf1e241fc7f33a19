import * as fc from "fast-check";
import { resampler } from "../../../services/conversation/audio/resampler.ts";
import { inTurn, levelOf, noise, resampleAll, tone } from "../fixtures/sound.ts";

const PAIRS = [
  [24_000, 8000],
  [16_000, 8000],
  [48_000, 8000],
  [8000, 16_000],
  [8000, 24_000],
  [8000, 48_000],
  [16_000, 24_000],
  [24_000, 16_000],
  [22_050, 8000],
  [44_100, 16_000],
] as const;
const middle = (pcm: Int16Array): Int16Array => pcm.subarray(pcm.length / 4, (pcm.length * 3) / 4);

/** What becomes of a tone, in dB of its loudness. */
const gain = (hz: number, from: number, to: number): number => {
  const sent = tone({ hz, rate: from, ms: 400, db: -12 });
  return levelOf(middle(resampleAll(sent, from, to))) - levelOf(middle(sent));
};

describe.each(PAIRS)("%d to %d Hz", (from, to) => {
  test.each([300, 1000, 2000, 3000])("%d Hz pass within half a dB", (hz) =>
    expect(Math.abs(gain(hz, from, to))).toBeLessThan(0.5),
  );

  test("a stream in pieces of any size is the same as one, and as long as the sound", () => {
    const sound = noise({ ms: 120, rate: from, db: -15 });
    const whole = resampleAll(sound, from, to);
    expect(whole).toHaveLength(Math.ceil((sound.length * to) / from));
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 700 }), { maxLength: 20 }), (sizes) => {
        const stream = resampler(from, to);
        const parts: Int16Array[] = [];
        let at = 0;
        for (const size of sizes) parts.push(stream.push(sound.subarray(at, (at += size))));
        parts.push(stream.push(sound.subarray(at)), stream.end());
        expect(inTurn(...parts)).toEqual(whole);
      }),
      { numRuns: 15 },
    );
  });

  test("begins anew after its end", () => {
    const sound = noise({ ms: 30, rate: from, db: -15 });
    const stream = resampler(from, to);
    const once = (): Int16Array => inTurn(stream.push(sound), stream.end());
    expect(once()).toEqual(once());
    expect(stream.end()).toHaveLength(0);
  });

  test("stays in time: the place of a knock is kept", () => {
    const sound = new Int16Array(from / 10);
    sound[from / 50] = 30_000;
    const heard = resampleAll(sound, from, to);
    expect(heard.indexOf(Math.max(...heard))).toBe(Math.round(to / 50));
  });
});

describe("aliases", () => {
  test.each([
    [24_000, 8000, 5000],
    [24_000, 8000, 7000],
    [48_000, 8000, 5000],
    [48_000, 8000, 11_000],
    [16_000, 8000, 5000],
    [24_000, 16_000, 10_000],
  ])("from %d to %d Hz a tone of %d Hz is gone", (from, to, hz) => {
    expect(gain(hz, from, to)).toBeLessThan(-50);
  });

  test("upwards no image appears", () => {
    const up = resampleAll(tone({ hz: 1000, ms: 400, db: -6 }), 8000, 24_000);
    const clean = tone({ hz: 1000, rate: 24_000, ms: 400, db: -6 });
    expect(levelOf(middle(up.map((s, i) => s - clean[i]!)))).toBeLessThan(-70);
  });
});

describe("bounds", () => {
  test("equal rates change nothing and copy", () => {
    const sound = Int16Array.of(1, -2, 3);
    expect([resampler(8000, 8000).push(sound), resampleAll(sound, 16_000, 16_000)]).toEqual([sound, sound]);
    expect(resampleAll(sound, 8000, 8000)).not.toBe(sound);
  });

  test("the loudest sound is clipped, not wrapped", () => {
    const square = Int16Array.from({ length: 4800 }, (_, i) => (i % 60 < 30 ? 32_767 : -32_768));
    const heard = resampleAll(square, 24_000, 8000);
    heard.forEach((s, i) => {
      if ((i * 3) % 60 === 15) expect(s).toBeGreaterThan(30_000);
    });
  });

  test.each([
    [0, 8000],
    [8000, 1e6],
    [8000.5, 8000],
    [Number.NaN, 8000],
    [191_999, 190_001],
  ])("rates like %d and %d are refused", (from, to) => expect(() => resampler(from, to)).toThrow(RangeError));
});
