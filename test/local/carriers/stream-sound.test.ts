import { expect, test } from "@jest/globals";
import { decodeSound, encodeSound, type SoundFormat } from "../../../local/carriers/stream/audio-format.ts";
import { createPlayout } from "../../../local/carriers/stream/playout.ts";
import { startLegTime } from "../../../local/carriers/exchange/leg-time.ts";
import { startTime } from "../../../local/carriers/exchange/simulated-time.ts";
import { skippingClock } from "../../fixtures/skipping-clock.ts";

const FORMATS: SoundFormat[] = [
  { codec: "pcmu", rate: 8000 },
  { codec: "pcma", rate: 8000 },
  { codec: "s16le", rate: 16000 },
];

test("G.711's landmarks", () => {
  const [mu, a] = [
    { codec: "pcmu", rate: 8000 },
    { codec: "pcma", rate: 8000 },
  ] as const;
  expect([...decodeSound(mu, Uint8Array.from([0xff, 0x7f, 0x80, 0x00]))].map((n) => n + 0)).toEqual([
    0, 0, 32124, -32124,
  ]);
  expect([...decodeSound(a, Uint8Array.from([0xd5, 0x55, 0xaa, 0x2a]))]).toEqual([8, -8, 32256, -32256]);
});

test.each(FORMATS)("$codec: every code comes back as it went, and a sine within 35 dB", (format) => {
  if (format.codec !== "s16le") {
    const codes = Uint8Array.from({ length: 256 }, (_, n) => n);
    const again = encodeSound(format, decodeSound(format, codes));
    for (const code of codes) if (decodeSound(format, Uint8Array.of(code))[0] !== 0) expect(again[code]).toBe(code);
  }
  const sine = Int16Array.from({ length: 8000 }, (_, n) =>
    Math.round(14_654 * Math.sin((2 * Math.PI * 1000 * n) / 8_010)),
  );
  const back = decodeSound(format, encodeSound(format, sine));
  const noise = sine.reduce((sum, sample, n) => sum + (sample - (back[n] ?? 0)) ** 2, 0);
  const power = sine.reduce((sum, sample) => sum + sample ** 2, 0);
  expect(10 * Math.log10(power / Math.max(noise, 1))).toBeGreaterThan(35);
});

test("the carrier's queue: pieces of any length become frames, marks come behind what was before them, holes and gaps are counted", () => {
  const playout = createPlayout({ codec: "pcmu", rate: 8000 });
  playout.push(new Uint8Array(400), 0);
  playout.mark("a");
  expect(playout.waiting_ms()).toBe(50);
  expect(
    [playout.next(0), playout.next(20), playout.next(40)].map(({ frame, reached }) => [frame?.length, reached.length]),
  ).toEqual([
    [160, 0],
    [160, 0],
    [80, 0],
  ]);
  expect(playout.next(60)).toEqual({ frame: null, reached: ["a"] });
  playout.push(new Uint8Array(160), 110); // silence from 50 to 110
  expect(playout.facts()).toMatchObject({ frames: 2, gap_ms: 110, underruns: 1, underrun_ms: 60, played_ms: 50 });
  playout.mark("b");
  expect(playout.clear()).toEqual({ marks: ["b"], lost_ms: 20 });
  playout.push(new Uint8Array(160), 400);
  expect(playout.facts()).toMatchObject({ gap_ms: 110, underruns: 1, clears: 1 }); // after a clear a new utterance begins
  expect(playout.push(new Uint8Array(8000 * 601), 420)).toBe(false);
});

test("a call's time is compressed until sound comes; what is waited for then takes as long as it has left", async () => {
  const clock = skippingClock();
  const base = startTime(1_000, clock);
  const time = startLegTime(base);
  const over = new AbortController();
  const waiting = time.wait(20_000, over.signal); // 20 ms of ours
  time.switchToRealTime();
  expect([time.real, time.scale]).toEqual([true, 1]);
  const early = clock.wait(19_900).then(() => "still waiting");
  expect(await Promise.race([waiting, early])).toBe("still waiting");
  over.abort();
  expect(await waiting).toBe(false);
  expect(time.pending()).toBe(0);
  base.close();
});
