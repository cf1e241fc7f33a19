import type { VoiceActivity, Pcm } from "./port.ts";

/** Audio is analysed in steps of this length, whatever the length of the frames. */
const STEP_MS = 10;
/** Speech begins after this long, of which this much must be sound; anything shorter is a click. */
const START_MS = 80;
const START_SOUND_MS = 60;
/** Silence that ends speech. */
const STOP_MS = 300;
/** A shorter pause belongs to the sound: between syllables, before a plosive. */
const GAP_MS = 40;
/** The quietest step within ten blocks gives the noise floor: speech dips more often. */
const FLOOR_BLOCKS = 10;
const BLOCK_STEPS = 5;
/** The quietest step of noise lies about this far below its mean. */
const FLOOR_BIAS_DB = 3;
/** Bounds of the noise floor. */
const FLOOR_MIN_DB = -60;
const FLOOR_MAX_DB = -34;
/** Speech begins this far above the noise and continues while it stays above the second threshold. */
const ONSET_DB = 9;
const HOLD_DB = 6;
/** Speech into a telephone is never quieter. */
const ONSET_MIN_DB = -45;

const FULL_SCALE = 32_768 ** 2;
const ratioOf = (db: number): number => 10 ** (db / 10);
const BIAS = ratioOf(FLOOR_BIAS_DB);
const ONSET = ratioOf(ONSET_DB);
const HOLD = ratioOf(HOLD_DB - ONSET_DB);
const FLOOR_MIN = FULL_SCALE * ratioOf(FLOOR_MIN_DB);
const FLOOR_MAX = FULL_SCALE * ratioOf(FLOOR_MAX_DB);
const ONSET_MIN = FULL_SCALE * ratioOf(ONSET_MIN_DB);

/** Tracks the power of the noise floor, step by step. */
function noiseFloor(): (power: number) => number {
  const blocks = new Float64Array(FLOOR_BLOCKS).fill(Infinity);
  // the beginning of a call counts as noise until it dips, unless it is as loud as speech: background noise must not interrupt the greeting
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

/** Hysteresis in level and in time over the power of each step. All times are ms of audio. */
function detector() {
  const floorAfter = noiseFloor();
  let state: "silence" | "candidate" | "voice" = "silence";
  let [now, onset, sound, before] = [0, 0, 0, 0];
  /** End of the last sound, and of the last sound of speech. */
  let [lastSound, lastVoice] = [0, -Infinity];

  function onSound(): void {
    if (state === "silence") [state, onset, sound] = ["candidate", now - STEP_MS, 0];
    sound += STEP_MS;
    lastSound = now;
    if (state === "candidate" && now - onset >= START_MS && sound >= START_SOUND_MS) state = "voice";
    if (state === "voice") lastVoice = now;
  }

  return {
    step(power: number): void {
      now += STEP_MS;
      const mark = Math.max(floorAfter(power) * ONSET, ONSET_MIN) * (state === "silence" ? 1 : HOLD);
      // the mean of two steps evens out peaks of noise; the step itself keeps the end of a sound sharp
      const audible = power > mark && (power + before) / 2 > mark;
      before = power;
      if (audible) onSound();
      else if (now - lastSound >= (state === "voice" ? STOP_MS : GAP_MS)) state = "silence";
    },
    activity(): VoiceActivity {
      const quiet = now - lastVoice;
      const speaking = state === "voice";
      return {
        speaking,
        speech_ms: speaking ? lastVoice - onset : 0,
        silence_ms: speaking && quiet < GAP_MS ? 0 : quiet,
      };
    },
  };
}

/** Detects speech frame by frame (5 to 100 ms long) by its level above the noise floor; takes a microsecond a frame and keeps no audio. */
export function energyVad({ rate }: { rate: number }) {
  const stepSamples = Math.round((rate * STEP_MS) / 1000);
  const detect = detector();
  // sums of the incomplete step
  let [sum, squares, filled] = [0, 0, 0];
  return {
    push(pcm: Pcm): VoiceActivity {
      for (let i = 0; i < pcm.length; i++) {
        const sample = pcm[i] ?? 0;
        sum += sample;
        squares += sample * sample;
        if (++filled < stepSamples) continue;
        detect.step((squares - (sum * sum) / filled) / filled);
        sum = squares = filled = 0;
      }
      return detect.activity();
    },
  };
}

/** A voice activity detector. */
export type Vad = ReturnType<typeof energyVad>;
