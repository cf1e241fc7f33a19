import { coughPcm, noiseFrom } from "../../speech/noises.ts";
import { atLevel, noiseAt, telephoneBand } from "./levels.ts";
import { BYSTANDERS, type Spoken } from "./spoken.ts";
import { NODS, OTHERS } from "./texts.ts";

/** What is heard on a line beside the person who speaks. The same sound for the same seed; 8 kHz. */

const RATE = 8000;
const samplesOf = (seconds: number): number => Math.round(seconds * RATE);
const BABBLE_VOICES = 6;
const SENTENCE_PAUSE_S = 0.35;

/** A sound that comes again and again on a silent line. */
interface Event {
  every_s: number;
  first_s: number;
  level_db: number;
}

function repeated(seconds: number, { every_s, first_s, level_db }: Event, one: (n: number) => Int16Array): Int16Array {
  const out = new Int16Array(samplesOf(seconds));
  for (let n = 0, at = samplesOf(first_s); at < out.length; n++, at += samplesOf(every_s)) {
    const sound = atLevel(one(n), level_db);
    out.set(sound.subarray(0, out.length - at), at);
  }
  return out;
}

const white = (seconds: number, seed: number): Float64Array => {
  const next = noiseFrom(seed);
  return Float64Array.from({ length: samplesOf(seconds) }, () => next() * 8000);
};

/** Tyres and engines: low noise that swells, with a vehicle that passes every seven seconds. */
function street(seconds: number, seed: number): Float64Array {
  const next = noiseFrom(seed);
  const phase = Math.PI * (1 + next());
  let [slow, low] = [0, 0];
  return Float64Array.from({ length: samplesOf(seconds) }, (_, at) => {
    const s = at / RATE;
    const raw = next();
    slow += 0.25 * (raw - slow);
    low += 0.6 * (slow - low);
    const swell = 1 + 0.25 * Math.sin(2 * Math.PI * 0.13 * s + phase) + 0.1 * Math.sin(2 * Math.PI * 0.71 * s);
    const pass = 0.9 * Math.exp(-((((s + phase) % 7) - 3.5) ** 2) / 0.7);
    return 20_000 * (low + 0.08 * raw) * (swell + pass);
  });
}

/** Chords of four beats with a drum on each: harmonics that decay. */
function music(seconds: number, seed: number): Float64Array {
  const next = noiseFrom(seed);
  const chords = [
    [262, 330, 392],
    [220, 262, 330],
    [349, 440, 523],
    [392, 494, 587],
  ];
  return Float64Array.from({ length: samplesOf(seconds) }, (_, at) => {
    const s = at / RATE;
    const beat = Math.floor(s / 0.5);
    const since = s - beat * 0.5;
    const chord = chords[Math.floor(beat / 4) % chords.length] ?? [];
    let value = 0;
    for (const [n, hz] of [...chord, (chord[beat % 3] ?? 0) * 2].entries())
      for (let k = 1; k <= 4; k++)
        value +=
          (Math.sin(2 * Math.PI * hz * k * s + n) / k) *
          (n === 3 ? Math.exp(-since * 5) * 1.5 : 0.5 + 0.5 * Math.exp(-since * 2));
    return 2500 * value + 6000 * next() * Math.exp(-since * 40);
  });
}

/** Another voice for each hundred seeds. */
const televisionVoice = (seed: number): string => BYSTANDERS[Math.floor(seed / 100) % BYSTANDERS.length] ?? "";

/** A voice that reads one sentence after the other. */
async function reading(spoken: Spoken, seconds: number, voice: string, from: number): Promise<Int16Array> {
  const out = new Int16Array(samplesOf(seconds));
  for (let n = from, at = 0; at < out.length; n++) {
    const sentence = await spoken.telephone(voice, OTHERS[n % OTHERS.length] ?? "");
    out.set(sentence.subarray(0, out.length - at), at);
    at += sentence.length + samplesOf(SENTENCE_PAUSE_S);
  }
  return out;
}

async function babble(spoken: Spoken, seconds: number, seed: number): Promise<Float64Array> {
  const sum = new Float64Array(samplesOf(seconds));
  for (let n = 0; n < BABBLE_VOICES; n++) {
    const one = await reading(spoken, seconds, BYSTANDERS[n % BYSTANDERS.length] ?? "", seed + n);
    const shift = (samplesOf(0.7) * n) % sum.length;
    for (let at = 0; at < sum.length; at++) sum[at] = (sum[at] ?? 0) + (one[(at + shift) % one.length] ?? 0);
  }
  return sum;
}

/** Air: noise that swells and dies away. */
const breath = (seed: number, seconds: number): Int16Array => {
  const noise = white(seconds, seed);
  return Int16Array.from(noise, (v, at) => v * Math.sin((Math.PI * at) / noise.length) ** 1.5);
};

/** Harmonics of a pitch that moves, in bursts. */
function voiced(seconds: number, pitch: (s: number) => number, loud: (s: number) => number): Int16Array {
  let phase = 0;
  return Int16Array.from({ length: samplesOf(seconds) }, (_, at) => {
    const s = at / RATE;
    phase += (2 * Math.PI * pitch(s)) / RATE;
    let value = 0;
    for (let k = 1; k <= 8; k++) value += Math.sin(k * phase) / k;
    return 5000 * value * loud(s);
  });
}

const laughter = (n: number): Int16Array =>
  voiced(
    1.2,
    (s) => 230 - 40 * s + 10 * (n % 3),
    (s) => Math.max(0, Math.sin(2 * Math.PI * 4.5 * s)) ** 0.5,
  );
const cry = (): Int16Array =>
  voiced(
    4,
    (s) => 450 + 60 * Math.sin(2 * Math.PI * 0.9 * s),
    (s) => Math.max(0, Math.sin(2 * Math.PI * 0.55 * s)) ** 0.3,
  );
const siren = (): Int16Array =>
  voiced(
    6,
    (s) => 900 + 350 * Math.sin(2 * Math.PI * 0.35 * s),
    (s) => Math.sin((Math.PI * s) / 6) ** 0.4,
  );
const bark = (n: number): Int16Array =>
  voiced(
    0.25,
    (s) => 420 - 600 * s + 20 * (n % 2),
    (s) => Math.exp(-s * 12),
  );
const bell = (): Int16Array =>
  Int16Array.from({ length: samplesOf(1.4) }, (_, at) => {
    const s = at / RATE;
    return (
      6000 *
      (Math.sin(2 * Math.PI * 425 * s) + Math.sin(2 * Math.PI * 1330 * s)) *
      (0.6 + 0.4 * Math.sign(Math.sin(2 * Math.PI * 20 * s)))
    );
  });
const tone = (hz: number, over: number, seconds: number): Int16Array =>
  Int16Array.from(
    { length: samplesOf(seconds) },
    (_, at) => 5000 * (Math.sin((2 * Math.PI * hz * at) / RATE) + Math.sin((2 * Math.PI * over * at) / RATE)),
  );
const cough = (ms: number, n: number): Int16Array => coughPcm(ms, RATE, 7 + n);
function fit(): Int16Array {
  const out = new Int16Array(samplesOf(2.4));
  for (let n = 0; n < 6; n++) out.set(cough(380, n), samplesOf(0.4 * n));
  return out;
}
const ring = { every_s: 3, first_s: 0.5 };

/** Sounds that go on, by name: as loud as is asked for, on the mean. */
const STEADY: Record<
  string,
  (spoken: Spoken, seconds: number, seed: number) => Promise<ArrayLike<number>> | ArrayLike<number>
> = {
  white: (_, seconds, seed) => white(seconds, seed),
  street: (_, seconds, seed) => street(seconds, seed),
  music: (_, seconds, seed) => music(seconds, seed),
  babble,
  tv: (spoken, seconds, seed) => reading(spoken, seconds, televisionVoice(seed), seed),
};

/** Sounds that come and go, by name: as loud as is asked for, while they last. */
const EVENTS: Record<string, (level_db: number, seconds: number, spoken: Spoken) => Promise<Int16Array> | Int16Array> =
  {
    cough: (level_db, s) => repeated(s, { every_s: 4, first_s: 3, level_db }, (n) => cough(350, n)),
    fit: (level_db, s) => repeated(s, { every_s: 60, first_s: 4, level_db }, fit),
    breath: (level_db, s) => repeated(s, { every_s: 4, first_s: 3, level_db }, (n) => breath(31 + n, 0.6)),
    laughter: (level_db, s) => repeated(s, { every_s: 5, first_s: 3, level_db }, laughter),
    baby: (level_db, s) => repeated(s, { every_s: 60, first_s: 4, level_db }, cry),
    siren: (level_db, s) => repeated(s, { every_s: 60, first_s: 4, level_db }, siren),
    dog: (level_db, s) => repeated(s, { every_s: 3, first_s: 3, level_db }, bark),
    door: (level_db, s) => repeated(s, { every_s: 4, first_s: 3, level_db }, (n) => cough(90, 40 + n)),
    ringing: (level_db, s) => repeated(s, { ...ring, level_db }, bell),
    key: (level_db, s) => repeated(s, { every_s: 4, first_s: 3, level_db }, () => tone(770, 1336, 0.2)),
    async nod(level_db, s, spoken) {
      const nods = await Promise.all(NODS.map((text) => spoken.telephone("rms", text)));
      return repeated(s, { every_s: 5, first_s: 3, level_db }, (n) => nods[n % nods.length] ?? new Int16Array(0));
    },
  };

/** The names of all noises. */
export const NOISES: readonly string[] = [...Object.keys(STEADY), ...Object.keys(EVENTS)];

/** A noise by its name, at a level in dBFS. Throws where there is none of that name. */
export async function noiseOf(
  name: string,
  level_db: number,
  seconds: number,
  how: { spoken: Spoken; seed: number },
): Promise<Int16Array> {
  const steady = STEADY[name];
  // sound that goes on is voices and instruments on a telephone; sound that comes and goes keeps the shape it was made with
  if (steady) {
    const sound = telephoneBand(await steady(how.spoken, seconds, how.seed));
    return name === "tv" ? atLevel(sound, level_db) : noiseAt(sound, level_db);
  }
  const event = EVENTS[name];
  if (!event) throw new Error(`there is no noise "${name}"; there are: ${NOISES.join(", ")}`);
  return event(level_db, seconds, how.spoken);
}
