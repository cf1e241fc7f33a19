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
/** Minimum statistics: the quietest step of the last second gives the noise floor, for speech dips more often. Longer, it would be late where noise swells. */
const FLOOR_BLOCKS = 20;
const BLOCK_STEPS = 5;
/** The quietest step of noise lies about this far below its mean. */
const FLOOR_BIAS_DB = 2.5;
/** The noise floor is never lower. It has no upper bound: noise as loud as speech is noise. */
const FLOOR_MIN_DB = -60;
/** Speech begins this far above the noise and continues while it stays above the second threshold. */
const ONSET_DB = 6;
const HOLD_DB = 4;
/** So much louder than usual a voice has to set in, dB. */
const SENSITIVITY_DB = { low: 4, normal: 0, high: -2 } as const;
/** Speech into a telephone is never quieter. */
const ONSET_MIN_DB = -45;
/** Sound so far below the loudest of whoever holds the telephone is somebody else: a television, people at the next table. */
const NEAR_ONSET_DB = 12;
const NEAR_HOLD_DB = 13;
/** Their level is forgotten by and by, dB a second: the telephone may go to a quieter person. */
const TALKER_DECAY_DB = 0.3;
/** Share of a step in the level of a talker: about 100 ms of speech count. */
const TALKER_SHARE = 0.1;

const FULL_SCALE = 32_768 ** 2;
const ratioOf = (db: number): number => 10 ** (db / 10);
const BIAS = ratioOf(FLOOR_BIAS_DB);
const [ONSET, HOLD] = [ratioOf(ONSET_DB), ratioOf(HOLD_DB)];
const [NEAR_ONSET, NEAR_HOLD] = [ratioOf(-NEAR_ONSET_DB), ratioOf(-NEAR_HOLD_DB)];
const FLOOR_MIN = FULL_SCALE * ratioOf(FLOOR_MIN_DB);
const ONSET_MIN = FULL_SCALE * ratioOf(ONSET_MIN_DB);
const HOLD_MIN = ONSET_MIN * ratioOf(HOLD_DB - ONSET_DB);
const DECAY = ratioOf((-TALKER_DECAY_DB * STEP_MS) / 1000);

/** Tracks the power of the noise floor, step by step. */
function noiseFloor(): (power: number) => number {
  const blocks = new Float64Array(FLOOR_BLOCKS).fill(Infinity);
  // what a call begins with is noise until it dips: background noise must not interrupt the greeting
  let [floor, lowest, steps] = [Infinity, Infinity, 0];
  return (power) => {
    lowest = Math.min(lowest, power);
    steps += 1;
    if (steps % BLOCK_STEPS !== 0) return floor;
    blocks[(steps / BLOCK_STEPS) % FLOOR_BLOCKS] = lowest;
    lowest = Infinity;
    floor = Math.max(blocks.reduce((a, b) => Math.min(a, b)) * BIAS, FLOOR_MIN);
    return floor;
  };
}

/** Tracks how loud whoever holds the telephone speaks. Sound counts at once, and is kept once words were recognised in it: a cough or a door is no talker. */
function nearTalker() {
  let [level, known, now] = [0, 0, 0];
  return {
    step(power: number, speaks: boolean): void {
      level += TALKER_SHARE * (power - level);
      known *= DECAY;
      now = speaks ? Math.max(now * DECAY, level) : now * DECAY;
    },
    get power(): number {
      return Math.max(known, now);
    },
    judged(words: boolean): void {
      if (words) known = Math.max(known, now);
      now = 0;
    },
    forget(): void {
      [known, now] = [0, 0];
    },
  };
}

/** Hysteresis in level and in time over the power of each step. All times are ms of audio. */
function detector(margin: number) {
  const floorAfter = noiseFloor();
  const talker = nearTalker();
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
  /** What is louder is speech: above the noise, above what a telephone carries, and as near as the talker. */
  const markAfter = (power: number): number => {
    const floor = floorAfter(power);
    talker.step(power, state === "voice" && now - lastVoice <= GAP_MS);
    return state === "silence"
      ? Math.max(floor * ONSET, ONSET_MIN, talker.power * NEAR_ONSET) * margin
      : Math.max(floor * HOLD, HOLD_MIN, talker.power * NEAR_HOLD);
  };

  return {
    talker,
    step(power: number): void {
      now += STEP_MS;
      const mark = markAfter(power);
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

/** What a detector is made with: samples a second, and how easily it takes a sound for a voice. */
export interface VadOptions {
  rate: number;
  sensitivity?: keyof typeof SENSITIVITY_DB;
}

/** Detects the speech of whoever holds the telephone, frame by frame (5 to 100 ms long), by its level above noise and other voices; takes microseconds a frame and keeps no audio. */
export function energyVad({ rate, sensitivity = "normal" }: VadOptions) {
  const stepSamples = Math.round((rate * STEP_MS) / 1000);
  const detect = detector(ratioOf(SENSITIVITY_DB[sensitivity]));
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
    /** What the sound since the last call of this proved to be: words, or none. */
    judged: (words: boolean): void => detect.talker.judged(words),
    /** Whoever spoke may have gone: the next voice is heard however quiet. */
    forgetTalker: (): void => detect.talker.forget(),
  };
}

/** A voice activity detector. */
export type Vad = ReturnType<typeof energyVad>;
