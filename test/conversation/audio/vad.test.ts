import * as fc from "fast-check";
import { encodeSpeech } from "../../../local/speech/modem.ts";
import { aLaw } from "../../../services/conversation/audio/g711.ts";
import { energyVad } from "../../../services/conversation/audio/vad.ts";
import type { VoiceActivity } from "../../../services/conversation/audio/port.ts";
import { noiseOf } from "../../../local/bench/speech/noise-corpus.ts";
import { babble, framesOf, inTurn, noise, resampleAll, silence, together, tone, voice } from "../fixtures/sound.ts";

/** What the detector knows after each frame of a sound. */
function heard(sound: Int16Array, ms = 20, rate = 8000): VoiceActivity[] {
  const vad = energyVad({ rate });
  return framesOf(sound, ms, rate).map((frame) => vad.push(frame));
}
const first = (all: VoiceActivity[], ms: number): number => all.findIndex((h) => h.speaking) * ms;

describe.each([8000, 16_000, 24_000, 48_000])("at %d Hz", (rate) => {
  test("a voice after silence is noticed within 180 ms, with its onset, and ends 300 ms after its last sound", () => {
    const all = heard(inTurn(silence(500, rate), babble(960, { rate }), silence(600, rate)), 20, rate);
    const began = all.findIndex((h) => h.speaking);
    expect((began + 1) * 20 - 500).toBeLessThanOrEqual(180);
    expect(all[began]!.speech_ms).toBeGreaterThanOrEqual(60);
    const ended = all.findIndex((h, i) => i > began && !h.speaking);
    expect(Math.abs((ended + 1) * 20 - 1460 + 16 - 300)).toBeLessThanOrEqual(30);
    expect(all.slice(ended).some((h) => h.speaking)).toBe(false);
    expect(all[ended]!.speech_ms).toBe(0);
  });
});

describe("a voice", () => {
  test("has no silence between its syllables", () => {
    for (const ms of [5, 10, 20, 30, 60, 100]) {
      const all = heard(inTurn(silence(200), babble(3000)), ms);
      const speaking = all.slice(all.findIndex((h) => h.speaking));
      expect(speaking.every((h) => h.speaking && h.silence_ms === 0)).toBe(true);
      expect(Math.abs(speaking.at(-1)!.speech_ms - 3000)).toBeLessThanOrEqual(30);
    }
  });

  test("is silent from its last sound on, also while it still holds", () => {
    const all = heard(inTurn(babble(640), silence(400)));
    const after = all.slice(640 / 20 + 2).map((h) => [h.speaking, h.silence_ms]);
    after.forEach(([, ms], i) => expect(Math.abs(Number(ms) - (76 + i * 20))).toBeLessThanOrEqual(15));
    expect(after[0]![0]).toBe(true);
    expect(after.at(-1)![0]).toBe(false);
  });

  test("is not longer for the silence behind it: a short call stays short", () => {
    const all = heard(inTurn(silence(200), babble(192), silence(280)));
    expect(all.at(-1)!).toMatchObject({ speaking: true });
    expect(all.at(-1)!.speech_ms).toBeLessThan(214);
  });

  test.each([[-9], [-18], [-24], [-30], [-36]])("of %d dBFS is heard on a line with noise of -50", (db) => {
    const line = noise({ ms: 4000, db: -50 });
    const all = heard(together(line, inTurn(silence(1500), babble(1024, { db }), silence(1476))));
    expect(all.slice(0, 75).some((h) => h.speaking)).toBe(false);
    expect(Math.abs(first(all, 20) + 20 - 1500)).toBeLessThanOrEqual(180);
    expect(all.slice(100, 125).every((h) => h.speaking)).toBe(true);
    expect(all.at(-1)!.speaking).toBe(false);
  });

  test.each([-12, -18, -24, -30])(
    "of %d dBFS from the first sample of a call is heard, and for as long as it lasts",
    (db) => {
      expect(
        heard(babble(5000, { db }))
          .slice(10)
          .every((h) => h.speaking),
      ).toBe(true);
    },
  );

  test("as the simulators speak it, through telephone and resampling, ends 300 ms after its last word", () => {
    const said = aLaw.decode(
      aLaw.encode(resampleAll(encodeSpeech("Yes please, confirm order 4711, tomorrow at nine.", 24_000), 24_000, 8000)),
    );
    const all = heard(inTurn(silence(500), said, silence(600)));
    const [began, ended] = [all.findIndex((h) => h.speaking), all.findLastIndex((h) => h.speaking) + 1];
    expect((began + 1) * 20).toBeLessThanOrEqual(700);
    expect(all.slice(began, Math.floor(said.length / 160) + 24).every((h) => h.speaking && h.silence_ms === 0)).toBe(
      true,
    );
    expect(Math.abs((ended + 1) * 20 - 500 - said.length / 8 - 300)).toBeLessThanOrEqual(40);
  });

  test("before the first one the silence is endless", () =>
    expect(heard(silence(2000)).every((h) => h.silence_ms === Infinity && !h.speaking)).toBe(true));

  test("is quiet only once the soft sounds at its edges are over, which are no voice", () => {
    const soft = (): Int16Array => noise({ ms: 160, db: -49 }, 3);
    const said = inTurn(silence(1000), babble(640), soft(), silence(800), soft(), babble(640));
    const all = heard(together(noise({ ms: said.length / 8, db: -62 }), said));
    const between = all.slice(1640 / 20 + 1, 2760 / 20);
    expect(Math.abs(Math.max(...between.map((h) => h.silence_ms)) - 1120)).toBeLessThanOrEqual(40);
    expect(Math.abs(Math.max(...between.map((h) => h.quiet_ms)) - 800)).toBeLessThanOrEqual(40);
  });

  test.each([-60, -40, -22])("steady noise of %d dBFS is quiet too", (db) =>
    expect(heard(noise({ ms: 8000, db }, 5)).every((h) => h.quiet_ms === Infinity)).toBe(true),
  );
});

describe("no voice", () => {
  test("a click of less than 60 ms, loud as it may be", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 59 }),
        fc.integer({ min: 0, max: 25 }),
        fc.integer({ min: -40, max: -3 }),
        (ms, at, db) => {
          const all = heard(inTurn(silence(300 + at), tone({ ms, db }), silence(400)));
          expect(all.some((h) => h.speaking || h.silence_ms !== Infinity)).toBe(false);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("steady noise, as loud as speech or louder, after a second and a half, whatever was before", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -90, max: -12 }),
        fc.integer(),
        fc.integer({ min: 0, max: 900 }),
        fc.integer({ min: -90, max: -12 }),
        (db, seed, before, other) => {
          const all = heard(inTurn(noise({ ms: before, db: other }, seed + 1), noise({ ms: 2500, db }, seed)));
          expect(all.slice(Math.ceil((before + 1400) / 20)).some((h) => h.speaking)).toBe(false);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("steady noise that is there from the first sample, never", () => {
    fc.assert(
      fc.property(fc.integer({ min: -90, max: -12 }), fc.integer(), (db, seed) =>
        expect(heard(noise({ ms: 1500, db }, seed)).some((h) => h.speaking)).toBe(false),
      ),
      { numRuns: 30 },
    );
  });

  test.each([-70, -60, -50])("comfort noise that comes and goes at %d dBFS", (db) => {
    const sound = inTurn(...Array.from({ length: 8 }, (_, i) => (i % 2 ? noise({ ms: 370, db }, i) : silence(330))));
    expect(heard(sound).some((h) => h.speaking)).toBe(false);
  });

  test.each([220, 440, 1000])("a steady tone of %d Hz", (hz) =>
    expect(heard(inTurn(silence(1000), tone({ ms: 3000, hz, db: -18 }))).some((h) => h.speaking)).toBe(false),
  );

  test("the hum of the mains, after a second", () =>
    expect(
      heard(tone({ hz: 50, ms: 3000, db: -38 }))
        .slice(50)
        .some((h) => h.speaking),
    ).toBe(false));
});

/** Noises that need no program to speak. */
const mute = { telephone: () => Promise.reject(new Error("none")), model: () => Promise.reject(new Error("none")) };
const sounds = (kind: string, db: number, s: number, seed = 21): Promise<Int16Array> =>
  noiseOf(kind, db, s, { spoken: mute, seed });

describe("sound without a voice in it is no voice, loud as it may be:", () => {
  test.each([
    ["street", -42],
    ["street", -22],
    ["cough", -20],
    ["fit", -20],
    ["breath", -30],
    ["siren", -18],
    ["ringing", -25],
    ["key", -13],
    ["door", -20],
    ["baby", -20],
  ])("%s at %d dBFS", async (kind, db) => {
    const all = heard(together(await sounds(kind, db, 30), noise({ ms: 30_000, db: -60 })));
    expect(all.some((h) => h.speaking)).toBe(false);
  });

  test("music is none for long enough to interrupt", async () => {
    const all = heard(await sounds("music", -25, 30));
    expect(Math.max(...all.map((h) => h.speech_ms))).toBeLessThan(300);
    expect(all.filter((h) => h.speaking).length / all.length).toBeLessThan(0.05);
  });
});

describe("a voice with a pitch is heard and ends", () => {
  test.each([
    ["on a quiet line", "white", -60, 110],
    ["of a woman", "white", -60, 210],
    ["of a child", "white", -60, 320],
    ["5 dB above white noise", "white", -27, 130],
    ["5 dB above a street", "street", -27, 130],
    ["5 dB above music", "music", -27, 130],
  ])("%s", async (_, kind, db, hz) => {
    for (const seed of [1, 2, 3]) {
      const line = await sounds(kind, db, 6, seed);
      const said = voice({ ms: 1500, db: -22, hz }, seed);
      const all = heard(together(line, inTurn(silence(2500), said, silence(2000))));
      expect(all.slice(0, 125).filter((h) => h.speaking).length).toBeLessThanOrEqual(10);
      expect(all.findIndex((h, i) => i >= 125 && h.speaking) * 20 - 2500).toBeLessThanOrEqual(400);
      const ended = all.findIndex((h, i) => i >= 190 && !h.speaking) * 20 - 4000;
      expect(ended).toBeLessThanOrEqual(1000);
    }
  });

  test("however long another sound was there before it, its age is its own", async () => {
    const street = await sounds("street", -30, 6);
    const all = heard(together(street, inTurn(silence(3000), voice({ ms: 1500, db: -18 }), silence(1500))));
    const began = all.find((h) => h.speaking);
    expect(began?.speech_ms).toBeLessThanOrEqual(400);
  });
});

describe("whoever holds the telephone", () => {
  const near = (): Int16Array => babble(960, { db: -20 });
  const far = (ms: number): Int16Array => babble(ms, { db: -38 });
  const pushed = (vad: ReturnType<typeof energyVad>, sound: Int16Array): VoiceActivity[] =>
    framesOf(sound).map((frame) => vad.push(frame));

  test("is over when their own voice is, though another goes on behind them, and that one is nobody who begins", () => {
    const vad = energyVad({ rate: 8000 });
    pushed(vad, silence(500));
    pushed(vad, near());
    const after = pushed(vad, far(3000));
    expect(after.findIndex((h) => !h.speaking) * 20).toBeLessThanOrEqual(320);
    expect(after.slice(20).some((h) => h.speaking)).toBe(false);
    vad.judged(true);
    expect(pushed(vad, inTurn(silence(500), far(2000))).some((h) => h.speaking)).toBe(false);
    expect(pushed(vad, near()).some((h) => h.speaking)).toBe(true);
  });

  test.each([
    ["a loud noise without words", (vad: ReturnType<typeof energyVad>) => vad.judged(false)],
    ["the talker has gone", (vad: ReturnType<typeof energyVad>) => vad.forgetTalker()],
  ])("may be quieter after %s", (_, happens) => {
    const vad = energyVad({ rate: 8000 });
    pushed(vad, inTurn(silence(500), near(), silence(600)));
    happens(vad);
    expect(pushed(vad, far(1000)).some((h) => h.speaking)).toBe(true);
  });
});

describe("the detector", () => {
  test("knows the same whatever the length of the frames", () => {
    const sound = together(
      inTurn(silence(300), babble(700), silence(500), babble(100), silence(400)),
      noise({ ms: 2000, db: -45 }),
    );
    const every100 = (ms: number): unknown[] => heard(sound, ms).filter((_, i) => ((i + 1) * ms) % 100 === 0);
    for (const ms of [5, 10, 20, 50]) expect(every100(ms)).toEqual(every100(100));
  });
});
