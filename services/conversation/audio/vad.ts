import type { VoiceActivity, Pcm, Vad } from "./port.ts";

/** Sound is judged in steps of this length, whatever the length of the frames. */
const STEP_MS = 10;
/** A voice is believed after this long, and so much of it has to be sound; what is over before that was a click. */
const START_MS = 80;
const START_SOUND_MS = 60;
/** Silence for this long ends a stretch of voice. */
const STOP_MS = 300;
/** Shorter pauses belong to the sound: between syllables, before a plosive. */
const GAP_MS = 40;
/** The quietest step within this long (ten blocks) tells the noise of the line: a voice dips more often. */
const FLOOR_BLOCKS = 10;
const BLOCK_STEPS = 5;
/** The quietest step of a noise lies about this far below the noise. */
const FLOOR_BIAS_DB = 3;
/** No line is quieter, and none is so loud that a voice could not be told from it. */
const FLOOR_MIN_DB = -60;
const FLOOR_MAX_DB = -34;
/** A voice begins this far above the noise, and holds as long as it stays above the second mark. */
const ONSET_DB = 9;
const HOLD_DB = 6;
/** Whatever is quieter is nobody who talks into a telephone. */
const ONSET_MIN_DB = -45;
/** What digital silence counts as. */
const SILENCE_DB = -96;

const FULL_SCALE = 32_768 ** 2;
const ratioOf = (db: number): number => 10 ** (db / 10);
const BIAS = ratioOf(FLOOR_BIAS_DB);
const ONSET = ratioOf(ONSET_DB);
const HOLD = ratioOf(HOLD_DB - ONSET_DB);
const FLOOR_MIN = FULL_SCALE * ratioOf(FLOOR_MIN_DB);
const FLOOR_MAX = FULL_SCALE * ratioOf(FLOOR_MAX_DB);
const ONSET_MIN = FULL_SCALE * ratioOf(ONSET_MIN_DB);

/** Loudness of a sound in dBFS (a sine at full scale has -3), without what does not move. */
function levelDb(pcm: Pcm): number {
  let sum = 0;
  let squares = 0;
  for (let i = 0; i < pcm.length; i++) {
    const sample = pcm[i] ?? 0;
    sum += sample;
    squares += sample * sample;
  }
  const power = (squares - (sum * sum) / Math.max(pcm.length, 1)) / Math.max(pcm.length, 1);
  return power <= 0 ? SILENCE_DB : Math.max(10 * Math.log10(power / FULL_SCALE), SILENCE_DB);
}

/** Power of the line's noise, step by step. */
function noiseFloor(): (power: number) => number {
  const blocks = new Float64Array(FLOOR_BLOCKS).fill(Infinity);
  // What a call begins with is taken for noise until it dips, unless it is as loud as only a voice is: the greeting must not be interrupted by the line.
  let [floor, lowest, steps] = [FLOOR_MAX, Infinity, 0];
  return (power) => {
    lowest = Math.min(lowest, power);
    steps += 1;
    if (steps % BLOCK_STEPS !== 0) return floor;
    blocks[(steps / BLOCK_STEPS) % FLOOR_BLOCKS] = lowest;
    lowest = Infinity;
    floor = Math.min(Math.max(blocks.reduce((a, b) => Math.min(a, b)) * BIAS, FLOOR_MIN), FLOOR_MAX);
    return floor;
  };
}

/** The two hystereses over the power of each step: in level and in time. All times are ms of sound. */
function detector(): { step(power: number): void; hearing(level_db: number): VoiceActivity } {
  const floorAfter = noiseFloor();
  let state: "silence" | "candidate" | "voice" = "silence";
  let [now, onset, sound, before] = [0, 0, 0, 0];
  /** End of the last sound, and of the last one that belonged to a voice. */
  let [lastSound, lastVoice] = [0, -Infinity];

  function onSound(): void {
    if (state === "silence") [state, onset, sound] = ["candidate", now - STEP_MS, 0];
    sound += STEP_MS;
    lastSound = now;
    if (state === "candidate" && now - onset >= START_MS && sound >= START_SOUND_MS) state = "voice";
    if (state === "voice") lastVoice = now;
  }

  return {
    step(power) {
      now += STEP_MS;
      const mark = Math.max(floorAfter(power) * ONSET, ONSET_MIN) * (state === "silence" ? 1 : HOLD);
      // Two steps together even out the chance peaks of noise; the step itself keeps the end of a sound sharp.
      const audible = power > mark && (power + before) / 2 > mark;
      before = power;
      if (audible) onSound();
      else if (now - lastSound >= (state === "voice" ? STOP_MS : GAP_MS)) state = "silence";
    },
    hearing(level_db) {
      const quiet = now - lastVoice;
      const speaking = state === "voice";
      return {
        speaking,
        speech_ms: speaking ? lastVoice - onset : 0,
        silence_ms: speaking && quiet < GAP_MS ? 0 : quiet,
        level_db,
      };
    },
  };
}

/** Tells voice from silence by loudness above the noise of the line; a microsecond a frame, and no memory of the sound. */
export function energyVad({ rate }: { rate: number }): Vad {
  const stepSamples = Math.round((rate * STEP_MS) / 1000);
  let detect = detector();
  // Of the step that is not whole yet.
  let [sum, squares, filled] = [0, 0, 0];
  return {
    push(pcm) {
      for (let i = 0; i < pcm.length; i++) {
        const sample = pcm[i] ?? 0;
        sum += sample;
        squares += sample * sample;
        if (++filled < stepSamples) continue;
        detect.step((squares - (sum * sum) / filled) / filled);
        sum = squares = filled = 0;
      }
      return detect.hearing(levelDb(pcm));
    },
    reset() {
      detect = detector();
      sum = squares = filled = 0;
    },
  };
}
