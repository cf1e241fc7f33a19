import { EchoGuard } from "../../../services/conversation/audio/detection/echo-guard.ts";
import { energyVad } from "../../../services/conversation/audio/vad.ts";
import { framesOf, inTurn, noise, silence, together, voice } from "../fixtures/sound.ts";

const FRAME_MS = 20;
const later = (pcm: Int16Array, ms: number, db: number): Int16Array =>
  inTurn(
    silence(ms),
    pcm.map((v) => v * 10 ** (db / 20)),
  ).subarray(0, pcm.length);

/** A line on which we speak and hear; gives what the detector makes of it, and the guard. `jitter`: frames arrive so much later at most, in ms. */
function listening(ours: Int16Array, theirs: Int16Array, jitter = 0) {
  const guard = new EchoGuard(8000);
  const vad = energyVad({ rate: 8000 });
  const [played, heard] = [framesOf(ours), framesOf(theirs)];
  const speech = heard.map((frame, n) => {
    const now = 5000 + n * FRAME_MS;
    const before = played[n - 1];
    if (before?.some((v) => v !== 0)) guard.played(before, now - FRAME_MS);
    const late = (jitter * ((n * 37) % 11)) / 11;
    return vad.push(guard.heard(frame, now + late));
  });
  return { speech, guard };
}
const ours = (seed: number): Int16Array =>
  inTurn(
    silence(1000),
    ...[0, 1, 2, 3].flatMap((n) => [voice({ ms: 2600, hz: 190, db: -20 }, seed + n), silence(350)]),
  );
const line = (ms: number, seed: number): Int16Array => noise({ ms, db: -60 }, seed);

describe("an echo of our voice", () => {
  test.each([-14, -20, -25, -30].flatMap((db) => [180, 400].map((ms) => [db, ms] as const)))(
    "of %d dB and %d ms is no voice of the caller's",
    (db, ms) => {
      for (const seed of [db % 2 === 0 ? 1 : 2]) {
        const said = ours(seed);
        const { speech } = listening(said, together(later(said, ms, db), line(13_000, seed)));
        expect(Math.max(...speech.map((h) => h.speech_ms))).toBeLessThan(300);
      }
    },
  );

  test("is known by its level and its delay, and stays known while frames come unevenly", () => {
    const said = ours(3);
    const { speech, guard } = listening(said, together(later(said, 180, -20), line(13_000, 3)), 60);
    expect(Math.max(...speech.map((h) => h.speech_ms))).toBeLessThan(300);
    expect(Math.abs((guard.echo?.level_db ?? 0) + 20)).toBeLessThanOrEqual(3);
    expect(Math.abs((guard.echo?.delay_ms ?? 0) - 180)).toBeLessThanOrEqual(60);
  });
});

test("an echo whose delay changes in mid-call stays none of the caller's", () => {
  const said = ours(2);
  const [near, far] = [later(said, 180, -16), later(said, 420, -16)];
  const moved = near.map((v, i) => (i < 6 * 8000 ? v : (far[i] ?? 0)));
  const { speech } = listening(said, together(moved, line(13_000, 2)));
  expect(Math.max(...speech.map((h) => h.speech_ms))).toBeLessThan(300);
});

describe("a caller who speaks over us", () => {
  test.each([
    [-14, 0],
    [-14, 7000],
    [-20, 4000],
    [-30, 7000],
  ])("is heard on a line with an echo of %d dB, %d ms after our beginning", (db, at) => {
    for (const seed of [1, 2]) {
      const said = ours(seed);
      const from = at + 1300;
      const caller = inTurn(silence(from), voice({ ms: 1500, hz: 120, db: -20 }, seed + 9), silence(3000));
      const { speech } = listening(said, together(together(later(said, 180, db), caller), line(13_000, seed)));
      const began = speech.findIndex((h, n) => n * FRAME_MS >= from && h.speech_ms >= 300) * FRAME_MS - from;
      expect(began).toBeGreaterThan(0);
      expect(began).toBeLessThanOrEqual(700);
    }
  });

  test("is heard whole where there is no echo, however quiet, once we have spoken for two seconds", () => {
    const guard = new EchoGuard(8000);
    const said = framesOf(ours(5));
    const caller = framesOf(inTurn(silence(4000), voice({ ms: 3000, hz: 120, db: -36 }, 4), silence(3000)));
    for (const [n, frame] of caller.entries()) {
      const now = 5000 + n * FRAME_MS;
      if (said[n]?.some((v) => v !== 0)) guard.played(said[n], now);
      const heard = guard.heard(frame, now);
      if (n * FRAME_MS >= 4000) expect(heard).toBe(frame);
    }
    expect(guard.echo).toBeNull();
  });

  test("is heard whole while we are silent", () => {
    const guard = new EchoGuard(8000);
    for (const [n, frame] of framesOf(voice({ ms: 2000, db: -40 })).entries())
      expect(guard.heard(frame, n * FRAME_MS)).toBe(frame);
  });
});
