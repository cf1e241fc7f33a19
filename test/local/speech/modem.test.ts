import * as fc from "fast-check";
import { g711Decode, g711Encode } from "../../../local/speech/g711.ts";
import { createDecoder, decodeSpeech, encodeSpeech, PAUSE_MS, speechMs } from "../../../local/speech/modem.ts";
import { beepPcm, coughPcm, noiseFrom, noisePcm } from "../../../local/speech/noises.ts";
import { GAP_MS, SYMBOL_MS, TONE_MS, tonePcm } from "../../../local/speech/tones.ts";
import type { Rate } from "../../../local/speech/tones.ts";

const RUNS = { numRuns: 60 };
const rates = fc.constantFrom<Rate>(8000, 16_000, 24_000, 48_000);
const texts = fc.oneof(
  fc.string({ minLength: 1, maxLength: 20, unit: "grapheme" }),
  fc.constantFrom(
    "Does the delivery on Monday suit you?",
    "42.50 €, please – grüß Gott.",
    "order A-17",
    "はい、お願いします",
    "No.",
  ),
);
/** What is left of a text when blanks count as one; control characters and blanks of other kinds may vanish at its edges. */
const plain = (text: string): string => text.replace(/\s+/gu, " ").trim();
const speakable = texts.map((text) => plain(text.replace(/[^\P{C}]|\uFFFD/gu, ""))).filter((text) => text !== "");

/** A sound heard through a gain and noise, with silence around it. */
function heardThrough(
  pcm: Int16Array,
  how: { before: number; after: number; gain_db: number; noise_db: number; rate: Rate; seed: number },
): Int16Array {
  const length = how.before + pcm.length + how.after;
  const noise = noisePcm((length * 1000) / how.rate, how.rate, how.noise_db, how.seed);
  const gain = 10 ** (how.gain_db / 20);
  return noise.map((value, at) =>
    Math.max(-32_768, Math.min(32_767, Math.round(value + gain * (pcm[at - how.before] ?? 0)))),
  );
}

/** A low-pass for a telephone line: windowed sinc, 96 taps, flat to 3 kHz. */
function telephoneFilter(pcm: Int16Array, rate: number): Int16Array {
  const taps = Array.from({ length: 96 }, (_, at) => {
    const middle = at - 47.5;
    const phase = (2 * 3450 * middle) / rate;
    return (Math.sin(Math.PI * phase) / (Math.PI * middle)) * (0.54 - 0.46 * Math.cos((2 * Math.PI * (at + 0.5)) / 96));
  });
  const total = taps.reduce((sum, tap) => sum + tap, 0);
  return pcm.map((_, at) =>
    Math.round(taps.reduce((sum, tap, back) => sum + tap * (pcm[at - back + 48] ?? 0), 0) / total),
  );
}

function inPieces(pcm: Int16Array, sizes: readonly number[], push: (piece: Int16Array) => void): void {
  for (let from = 0, turn = 0; from < pcm.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    push(pcm.subarray(from, from + size));
    from += size;
  }
}

describe("words inside sound", () => {
  test("come out as they went in, at any rate and in pieces of any size", () => {
    fc.assert(
      fc.property(
        speakable,
        rates,
        fc.array(fc.integer({ min: 1, max: 2500 }), { minLength: 1, maxLength: 5 }),
        (text, rate, sizes) => {
          const words: string[] = [];
          const decoder = createDecoder(rate, { heard: (word) => words.push(word) });
          inPieces(encodeSpeech(text, rate), sizes, (piece) => decoder.push(piece));
          decoder.end();
          expect(words.join(" ")).toBe(text);
        },
      ),
      RUNS,
    );
  });

  test("survive a quiet or loud line, noise and any offset", () => {
    fc.assert(
      fc.property(
        speakable,
        rates,
        fc.record({
          before: fc.nat(3000),
          after: fc.nat(500),
          gain_db: fc.integer({ min: -12, max: 3 }),
          noise_db: fc.integer({ min: -70, max: -40 }),
          seed: fc.nat(),
        }),
        (text, rate, how) => {
          expect(decodeSpeech(heardThrough(encodeSpeech(text, rate), { ...how, rate }), rate)).toBe(text);
        },
      ),
      RUNS,
    );
  });

  test("survive G.711 and noise together", () => {
    fc.assert(
      fc.property(
        speakable,
        fc.constantFrom("pcmu" as const, "pcma" as const),
        fc.integer({ min: -12, max: 3 }),
        fc.nat(),
        (text, law, gain_db, seed) => {
          const line = heardThrough(encodeSpeech(text, 8000), {
            before: 333,
            after: 200,
            gain_db,
            noise_db: -45,
            rate: 8000,
            seed,
          });
          expect(decodeSpeech(g711Decode(law, g711Encode(law, line)), 8000)).toBe(text);
        },
      ),
      RUNS,
    );
  });

  test("survive the way down to 8 kHz through a telephone's filter and up again", () => {
    fc.assert(
      fc.property(speakable, fc.nat(2), (text, phase) => {
        const wide = telephoneFilter(encodeSpeech(text, 24_000), 24_000);
        const narrow = new Int16Array(Math.ceil(wide.length / 3)).map((_, at) => wide[at * 3 + phase] ?? 0);
        const line = g711Decode("pcmu", g711Encode("pcmu", narrow));
        const again = telephoneFilter(
          new Int16Array(line.length * 3).map((_, at) =>
            at % 3 === 0 ? Math.max(-32_768, Math.min(32_767, 3 * (line[at / 3] ?? 0))) : 0,
          ),
          24_000,
        );
        expect(decodeSpeech(line, 8000)).toBe(text);
        expect(decodeSpeech(again, 24_000)).toBe(text);
      }),
      { numRuns: 15 },
    );
  });

  test("cut anywhere, they are the beginning or the end of what was said", () => {
    fc.assert(
      fc.property(rates, fc.double({ min: 0, max: 1, noNaN: true }), (rate, part) => {
        const text = "Does-the-delivery-suit-you";
        const pcm = encodeSpeech(text, rate);
        const cut = Math.round(part * pcm.length);
        const [head, tail] = [decodeSpeech(pcm.subarray(0, cut), rate), decodeSpeech(pcm.subarray(cut), rate)];
        expect(text.startsWith(head)).toBe(true);
        expect(text.endsWith(tail)).toBe(true);
        expect(text.length - head.length - tail.length).toBeLessThanOrEqual(1);
      }),
      RUNS,
    );
  });

  test("a letter of several bytes that lost one is left out", () => {
    const pcm = encodeSpeech("grün", 8000);
    expect(decodeSpeech(pcm.subarray(3 * 512), 8000)).toBe("n");
    expect(decodeSpeech(pcm.subarray(0, 3 * 512), 8000)).toBe("gr");
  });
});

describe("times", () => {
  test("are those of the stream, to two milliseconds", () => {
    fc.assert(
      fc.property(rates, fc.integer({ min: 0, max: 900 }), (rate, offset_ms) => {
        const told: [string, number, number?][] = [];
        const decoder = createDecoder(rate, {
          heard: (word, at, until) => told.push([word, at, until]),
          began: (at) => told.push(["<", at]),
          ended: (at) => told.push([">", at]),
        });
        decoder.push(new Int16Array((offset_ms * rate) / 1000));
        decoder.push(encodeSpeech("Hi you", rate));
        decoder.push(new Int16Array((rate * 300) / 1000));
        const begin = (index: number): number => offset_ms + index * SYMBOL_MS + GAP_MS;
        expect(told.map(([word]) => word)).toEqual(["<", "Hi", "you", ">"]);
        const times = told.flatMap(([, ...rest]) => rest.filter((value) => value !== undefined));
        const expected = [begin(0), begin(0), begin(1) + TONE_MS, begin(3), begin(5) + TONE_MS, begin(6) + TONE_MS];
        times.forEach((time, at) => expect(Math.abs(time - (expected[at] ?? Number.NaN))).toBeLessThan(2));
      }),
      RUNS,
    );
  });

  test("a pause ends a word that was cut, and the speech", () => {
    const told: string[] = [];
    const decoder = createDecoder(8000, { heard: (word) => told.push(word), ended: () => told.push(".") });
    decoder.push(encodeSpeech("deliv", 8000).subarray(0, 5 * 512));
    decoder.push(new Int16Array((PAUSE_MS - 20) * 8));
    expect(told).toEqual([]);
    decoder.push(new Int16Array(30 * 8));
    expect(told).toEqual(["deliv", "."]);
  });

  test("what is spoken one after the other stays apart, and how long it takes is known", () => {
    const parts = ["I would like", "to confirm"].map((text) => encodeSpeech(text, 8000));
    expect(decodeSpeech(Int16Array.from(parts.flatMap((part) => [...part])), 8000)).toBe("I would like to confirm");
    expect(parts[0]?.length).toBe(speechMs("I would like") * 8);
    expect([speechMs(""), encodeSpeech(" \n", 8000).length]).toEqual([0, 0]);
  });
});

describe("no words", () => {
  const silent = (pcm: Int16Array, rate: Rate): void => expect(decodeSpeech(pcm, rate)).toBe("");

  test("in a cough, in noise that comes and goes, in silence", () => {
    fc.assert(
      fc.property(rates, fc.integer({ min: 30, max: 600 }), fc.nat(), (rate, ms, seed) => {
        silent(coughPcm(ms, rate, seed), rate);
        const next = noiseFrom(seed);
        const bursts = noisePcm(600, rate, -20, seed).map((value, at) =>
          Math.floor((at * 1000) / rate / 60) % 2 === 0 ? value : Math.round(next() * 30),
        );
        silent(bursts, rate);
      }),
      RUNS,
    );
    silent(new Int16Array(8000), 8000);
  });

  test.each<[string, Int16Array]>([
    ["a beep", beepPcm(400, 8000)],
    ["a short beep", beepPcm(48, 8000)],
    ["ringing", tonePcm([440, 480], { rate: 8000, silence_ms: 8, tone_ms: 1000, level: 0.1 })],
    ...[697, 770, 852, 941].flatMap((low) =>
      [1209, 1336, 1477, 1633].map((high): [string, Int16Array] => [
        `keys ${low} ${high}`,
        tonePcm([low, high], { rate: 8000, silence_ms: 8, tone_ms: 48, level: 0.13 }),
      ]),
    ),
    ["two tones that last", tonePcm([600, 1900], { rate: 8000, silence_ms: 8, tone_ms: 80, level: 0.13 })],
    ["a whistle and a hum", tonePcm([600, 1200, 1900, 2650], { rate: 8000, silence_ms: 8, tone_ms: 48, level: 0.13 })],
  ])("in %s", (_what, pcm) => silent(pcm, 8000));

  test("a cough is as loud and as long as asked for", () => {
    const pcm = coughPcm(350, 8000, 1);
    const level = 10 * Math.log10(pcm.reduce((sum, value) => sum + (value / 32_768) ** 2, 0) / pcm.length);
    expect(pcm.length).toBe(2800);
    expect(level).toBeGreaterThan(-30);
    expect(level).toBeLessThan(-10);
    expect(pcm).toEqual(coughPcm(350, 8000, 1));
  });
});

describe("G.711", () => {
  test.each(["pcmu", "pcma"] as const)("%s: every code comes back, every sample nearly", (law) => {
    const codes = Uint8Array.from({ length: 256 }, (_, code) => code);
    const again = g711Encode(law, g711Decode(law, codes));
    expect([...again].filter((code, at) => code !== codes[at] && (g711Decode(law, codes)[at] ?? 1) !== 0)).toEqual([]);
    fc.assert(
      fc.property(fc.integer({ min: -32_768, max: 32_767 }), (sample) => {
        const back = g711Decode(law, g711Encode(law, Int16Array.of(sample)))[0] ?? Number.NaN;
        expect(Math.abs(back - sample)).toBeLessThanOrEqual(Math.max(8, Math.abs(sample) / 16));
      }),
    );
  });
});
