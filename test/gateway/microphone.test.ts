import { expect, test } from "@jest/globals";
import { BLOCK, startProgram } from "./fixtures/page-sound.ts";

const WIRE_RATE = 16_000;
const AMPLITUDE = 0.5;
const SECONDS = 1;

interface Microphone {
  process(inputs: [[Float32Array]] | [[]]): boolean;
}
interface Sent {
  frame: Int16Array;
  peak: number;
}

/** What the page's microphone sends of a second of sound, outside of a browser. */
function sentOf(rate: number, sound: (second: number) => number): Sent[] {
  const sent: Sent[] = [];
  const port = { postMessage: (message: Sent) => sent.push(message) };
  const microphone = startProgram<Microphone>("microphone", rate, () => port);
  for (let from = 0; from < SECONDS * rate; from += BLOCK)
    microphone.process([[Float32Array.from({ length: BLOCK }, (_, i) => sound((from + i) / rate))]]);
  return sent;
}

/** How loud it is in the middle of the second, dB below the tone's own loudness. */
function loudness(sent: readonly Sent[]): number {
  const samples = sent.slice(10, 40).flatMap(({ frame }) => [...frame]);
  const power = samples.reduce((sum, sample) => sum + (sample / 32_768) ** 2, 0) / samples.length;
  return 10 * Math.log10(power / (AMPLITUDE ** 2 / 2) + 1e-12);
}
const tone = (hertz: number) => (second: number) => AMPLITUDE * Math.sin(2 * Math.PI * hertz * second);

const RATES = [44_100, 48_000, 96_000];
test.each(RATES)("frames of 20 ms at 16 kHz, and their peak, from %i Hz", (rate) => {
  const sent = sentOf(rate, tone(440));
  expect(Math.abs(sent.length - 50)).toBeLessThanOrEqual(1);
  expect(sent.every(({ frame }) => frame.length === 320)).toBe(true);
  expect(sent.slice(1).every(({ peak }) => Math.abs(peak - AMPLITUDE) < 0.01)).toBe(true);
});

test.each(RATES.flatMap((rate) => [300, 1000, 3400, 5500].map((hertz) => [hertz, rate] as const)))(
  "a tone of %i Hz goes on as it is, from %i Hz",
  (hertz, rate) => {
    const sent = sentOf(rate, tone(hertz));
    expect(Math.abs(loudness(sent))).toBeLessThan(0.5);
    // it is that tone, and next to nothing else
    const samples = sent.slice(10, 40).flatMap(({ frame }) => [...frame]);
    const part = (of: (x: number) => number): number =>
      samples.reduce((sum, sample, i) => sum + sample * of((2 * Math.PI * hertz * i) / WIRE_RATE), 0);
    const own = (2 * (part(Math.sin) ** 2 + part(Math.cos) ** 2)) / samples.length;
    const whole = samples.reduce((sum, sample) => sum + sample ** 2, 0);
    expect(10 * Math.log10(Math.max(whole - own, 1) / whole)).toBeLessThan(-40);
  },
);

test.each(RATES.flatMap((rate) => [8500, 9000, 10_000, 12_000, 15_500].map((hertz) => [hertz, rate] as const)))(
  "a tone of %i Hz, which would be heard as another one at 16 kHz, is not heard, from %i Hz",
  (hertz, rate) => expect(loudness(sentOf(rate, tone(hertz)))).toBeLessThan(-50),
);

test.each([8000, 16_000])("a microphone of %i Hz is heard, too", (rate) => {
  const sent = sentOf(rate, tone(440));
  expect(Math.abs(sent.length - 50)).toBeLessThanOrEqual(1);
  expect(Math.abs(loudness(sent))).toBeLessThan(0.5);
});
