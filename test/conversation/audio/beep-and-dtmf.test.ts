import * as fc from "fast-check";
import { beepDetector } from "../../../services/conversation/audio/beep-detector.ts";
import { dtmfTones } from "../../../services/conversation/audio/dtmf-tones.ts";
import { muLaw } from "../../../services/conversation/audio/g711.ts";
import { babble, framesOf, inTurn, noise, silence, together, tone } from "../fixtures/sound.ts";

const ROWS = [697, 770, 852, 941];
const COLUMNS = [1209, 1336, 1477, 1633];

/** Power of one frequency in a sound, as a part of all of it: written down again from the formula, not from the code under test. */
function share(pcm: Int16Array, hz: number, rate: number): number {
  let [re, im, all] = [0, 0, 0];
  pcm.forEach((s, i) => {
    re += s * Math.cos((2 * Math.PI * hz * i) / rate);
    im += s * Math.sin((2 * Math.PI * hz * i) / rate);
    all += s * s;
  });
  return all === 0 ? 0 : (2 * (re * re + im * im)) / (pcm.length * all);
}
const strongest = (pcm: Int16Array, of: number[], rate: number): number =>
  of.map((hz) => share(pcm, hz, rate)).reduce((best, s, i, all) => (s > all[best]! ? i : best), 0);

/** The keys in a sound: stretches of tone, one row and one column each. */
function decoded(sound: Int16Array, rate: number): string {
  let keys = "";
  let on = 0;
  for (const frame of [...framesOf(sound, 10, rate), silence(10, rate)]) {
    const loud = frame.some((s) => Math.abs(s) > 1000);
    on = loud ? on + 1 : 0;
    if (on !== 5) continue;
    const [row, column] = [strongest(frame, ROWS, rate), strongest(frame, COLUMNS, rate)];
    expect(share(frame, ROWS[row]!, rate) + share(frame, COLUMNS[column]!, rate)).toBeGreaterThan(0.8);
    keys += ["123A", "456B", "789C", "*0#D"][row]![column];
  }
  return keys;
}

describe("DTMF tones", () => {
  test.each([8000, 16_000, 24_000, 48_000])("every key is heard as itself at %d Hz", (rate) =>
    expect(decoded(dtmfTones("0123456789*#ABCD", rate), rate)).toBe("0123456789*#ABCD"),
  );
  test("any keys, through G.711", () =>
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9*#A-D]{1,12}$/), (keys) =>
        expect(decoded(muLaw.decode(muLaw.encode(dtmfTones(keys, 8000))), 8000)).toBe(keys),
      ),
      { numRuns: 20 },
    ));

  test("100 ms of tone and 70 of pause a key, half a second for a w; small letters too, the rest is left out", () => {
    expect(
      [
        dtmfTones("1", 8000),
        dtmfTones("w", 8000),
        dtmfTones("1wW a-", 8000),
        dtmfTones("", 8000),
        dtmfTones("xyz+", 16_000),
        dtmfTones("1".repeat(1000), 8000),
      ].map((p) => p.length),
    ).toEqual([1360, 4000, 10_720, 0, 0, 64 * 1360]);
    expect(
      dtmfTones("7", 8000)
        .subarray(800)
        .every((s) => s === 0),
    ).toBe(true);
  });

  test("nothing is clipped", () =>
    expect(Math.max(...dtmfTones("0123456789*#ABCD", 8000).map(Math.abs))).toBeLessThan(32_000));
});

/** At which frame ends a beep was told. */
function beeps(sound: Int16Array, rate = 8000, ms = 20): number[] {
  const detector = beepDetector(rate);
  return framesOf(sound, ms, rate).flatMap((frame, i) => (detector.push(frame) ? [(i + 1) * ms] : []));
}

describe("a beep", () => {
  test.each([400, 440, 612, 850, 1000, 1234, 1400, 1777, 2000])(
    "of %d Hz is detected once, when it has ended",
    (hz) => {
      for (const rate of [8000, 16_000, 24_000]) {
        const told = beeps(inTurn(silence(407, rate), tone({ hz, ms: 300, rate, db: -15 }), silence(400, rate)), rate);
        expect(told).toHaveLength(1);
        expect(told[0]! - 707).toBeGreaterThan(0);
        expect(told[0]! - 707).toBeLessThanOrEqual(60);
      }
    },
  );

  test.each([120, 150, 1000, 2500])("of %d ms counts", (ms) => {
    for (let at = 0; at < 20; at += 3)
      expect(beeps(inTurn(silence(200 + at), tone({ ms, hz: 1000 }), silence(300)))).toHaveLength(1);
  });

  test("on a bad line, and behind a greeting", () => {
    const sound = inTurn(babble(3000), silence(500), tone({ hz: 1000, ms: 400, db: -20 }), silence(500));
    expect(beeps(muLaw.decode(muLaw.encode(together(sound, noise({ ms: 4400, db: -40 })))))).toHaveLength(1);
  });

  test("frames of any length tell it", () => {
    for (const ms of [5, 10, 30, 60, 100])
      expect(beeps(inTurn(silence(200), tone({ ms: 300, hz: 1000 }), silence(300)), 8000, ms)).toHaveLength(1);
  });
});

describe("no beep", () => {
  test.each<[string, Int16Array]>([
    ["silence", silence(2000)],
    ["noise", noise({ ms: 3000, db: -20 })],
    ["speech", babble(8000)],
    ["keys", dtmfTones("0123456789*#ABCD", 8000)],
    ["a short tone", inTurn(silence(100), tone({ ms: 80, hz: 1000 }), silence(200))],
    ["a deep tone", inTurn(tone({ ms: 500, hz: 250 }), silence(200))],
    ["a high tone", inTurn(tone({ ms: 500, hz: 2500 }), silence(200))],
    ["a chord", inTurn(together(tone({ ms: 500, hz: 600 }), tone({ ms: 500, hz: 1100 })), silence(200))],
    ["a faint tone", inTurn(tone({ ms: 500, db: -50 }), silence(200))],
    ["a tone that never ends", inTurn(tone({ ms: 5000, hz: 425 }), silence(300))],
    ["a siren", inTurn(...Array.from({ length: 40 }, (_, i) => tone({ ms: 30, hz: 500 + 35 * i })), silence(200))],
    ["ringing", inTurn(together(tone({ ms: 1000, hz: 440 }), tone({ ms: 1000, hz: 480 })), silence(200))],
  ])("%s", (_what, sound) => expect(beeps(sound)).toEqual([]));
});
