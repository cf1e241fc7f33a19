import { BandPower, noiseFloor, type StepPower } from "./detection/bands.ts";
import { PitchSearch, Voicing } from "./detection/pitch.ts";
import { SecondOpinion } from "./detection/second-opinion.ts";
import type { VoiceActivity, VoiceModel, Pcm } from "./port.ts";

/** Audio is analysed in steps of this length, whatever the length of the frames. */
const STEP_MS = 10;
/** Speech begins after this long, of which this much must be sound; anything shorter is a click. */
const START_MS = 80;
const START_SOUND_MS = 60;
/** A sound may have gone on for long before a voice was found in it: the voice is no older than this. */
const LONGEST_ONSET_MS = 400;
/** Silence that ends speech. */
const STOP_MS = 300;
/** A shorter pause belongs to the sound: between syllables, before a plosive. */
const GAP_MS = 40;
/** A voice of this length that ended less than so long ago may go on, where the line was as quiet in between as only a pause is. */
const AGAIN_MS = 1500;
const AGAIN_SPEECH_MS = 250;
const PAUSE_DB = 18;
/** Sound without a pitch belongs to the voice before it for so long: fricatives, and words that noise hides. */
const UNVOICED_MS = 420;
/** The model knows them as a part of speech. */
const MODEL_UNVOICED_MS = 30;
/** A voice that the model found so long before is the one that sets in. */
const MODEL_ONSET_MS = 200;
/** The quietest step of noise lies about this far below its mean; a narrow band varies more. */
const LOW_BIAS_DB = 4;
const HIGH_BIAS_DB = 3;
/** The noise floor of a band is never lower. It has no upper bound: noise as loud as speech is noise. */
const FLOOR_MIN_DB = -63;
/** Speech begins this far above the noise of a band and continues while it stays above the second threshold. */
const ONSET_DB = 5.5;
const HOLD_DB = 3.5;
/** So much louder than usual a voice has to set in, dB. */
const SENSITIVITY_DB = { low: 4, normal: 0, high: -2 } as const;
/** Speech into a telephone is never quieter. */
const ONSET_MIN_DB = -45;
const HOLD_MIN_DB = -47;
/** Sound so far below the loudest of whoever holds the telephone is somebody else: a television, people at the next table. */
const NEAR_ONSET_DB = 12;
const NEAR_HOLD_DB = 13;
/** Their level is forgotten by and by, dB a second: the telephone may go to a quieter person. */
const TALKER_DECAY_DB = 0.3;
/** Whoever speaks into a telephone is louder than this, dBFS over 100 ms at their loudest, or may be somebody else in the room; */
const FAINT_DB = -28;
/** who is not so far below the voice that was understood last may be the same. */
const UNLIKE_DB = 6;
/** Share of a step in the level of a talker: about 100 ms of speech count. */
const TALKER_SHARE = 0.1;

const FULL_SCALE = 32_768 ** 2;
const ratioOf = (db: number): number => 10 ** (db / 10);
const [ONSET, HOLD] = [ratioOf(ONSET_DB), ratioOf(HOLD_DB)];
const PAUSE = ratioOf(-PAUSE_DB);
const [NEAR_ONSET, NEAR_HOLD] = [ratioOf(-NEAR_ONSET_DB), ratioOf(-NEAR_HOLD_DB)];
const [FAINT, UNLIKE] = [FULL_SCALE * ratioOf(FAINT_DB), ratioOf(-UNLIKE_DB)];
const FLOOR_MIN = FULL_SCALE * ratioOf(FLOOR_MIN_DB);
const ONSET_MIN = FULL_SCALE * ratioOf(ONSET_MIN_DB);
const HOLD_MIN = ONSET_MIN * ratioOf(HOLD_MIN_DB - ONSET_MIN_DB);
const DECAY = ratioOf((-TALKER_DECAY_DB * STEP_MS) / 1000);

/** Tells steps that stand out of the noise in a band; the mean of two steps evens out the peaks of noise, the step itself keeps the end of a sound sharp. */
function bandAboveNoise(bias_db: number): (power: number, above: number) => boolean {
  const floorAfter = noiseFloor({ bias: ratioOf(bias_db), least: FLOOR_MIN });
  let before = 0;
  return (power, above) => {
    const mark = floorAfter(power) * above;
    const audible = power > mark && (power + before) / 2 > mark;
    before = power;
    return audible;
  };
}

/** Tells steps in which either band stands out; both learn from each. */
function eitherBandAboveNoise(): (power: StepPower, above: number) => boolean {
  const [inLow, inHigh] = [bandAboveNoise(LOW_BIAS_DB), bandAboveNoise(HIGH_BIAS_DB)];
  return ({ low, high }, above) => {
    const standsOut = inLow(low, above);
    return inHigh(high, above) || standsOut;
  };
}

/** Tracks how loud whoever holds the telephone speaks. Sound counts at once, and is kept once words were recognised in it: a cough or a door is no talker. */
function nearTalker() {
  let [level, known, now] = [0, 0, 0];
  let understood = 0;
  return {
    step(power: number, speaks: boolean): void {
      level += TALKER_SHARE * (power - level);
      known *= DECAY;
      now = speaks ? Math.max(now * DECAY, level) : now * DECAY;
    },
    get power(): number {
      return Math.max(known, now);
    },
    get faint(): boolean {
      return now < FAINT;
    },
    get familiar(): boolean {
      return understood > 0 && now >= understood * UNLIKE;
    },
    judged(words: boolean): void {
      if (words) known = Math.max(known, now);
      if (words && now > 0) understood = now;
      now = 0;
    },
    forget(): void {
      [known, now] = [0, 0];
    },
  };
}

/** What makes a sound a voice: the model's word, else its pitch. */
function evidenceOf(voicing: Voicing, opinion: SecondOpinion) {
  const pitch = new PitchSearch(voicing);
  return {
    step(audible: boolean, speaking: boolean): void {
      opinion.step(audible);
      if (!opinion.known) pitch.step(audible, speaking);
    },
    /** `again`: a voice has just paused. */
    begins: (again: boolean): boolean =>
      opinion.known ? opinion.foundWithin(MODEL_ONSET_MS / STEP_MS) : pitch.found(again),
    /** What goes on and is no voice any more is another sound than the voice before it. */
    goesOn: (): boolean =>
      opinion.known ? opinion.missing * STEP_MS <= MODEL_UNVOICED_MS : pitch.missing * STEP_MS <= UNVOICED_MS,
  };
}

/** Which steps may be speech by their level: above the noise, above what a telephone carries, and as near as the talker. */
function levelGate(talker: ReturnType<typeof nearTalker>, margin: number) {
  const aboveNoise = eitherBandAboveNoise();
  let [before, quiet] = [0, Infinity];
  let stoodOut = false;
  return {
    /** `begins`: nothing was heard before the step. */
    passes(power: StepPower, begins: boolean): boolean {
      const { all } = power;
      const standsOut = aboveNoise(power, begins ? ONSET * margin : HOLD);
      const near = begins
        ? Math.max(ONSET_MIN, talker.power * NEAR_ONSET) * margin
        : Math.max(HOLD_MIN, talker.power * NEAR_HOLD);
      const loud = all > near && (all + before) / 2 > near;
      before = all;
      // one step alone is a click
      quiet = standsOut && stoodOut ? 0 : quiet + STEP_MS;
      stoodOut = standsOut;
      return standsOut && loud;
    },
    /** For how long nothing stood out of the noise. */
    get quiet_ms(): number {
      return quiet < GAP_MS ? 0 : quiet;
    },
  };
}

/** Hysteresis in level and in time over the power of each step. All times are ms of audio. */
function detector(voicing: Voicing, opinion: SecondOpinion, margin: number) {
  const talker = nearTalker();
  const levels = levelGate(talker, margin);
  const evidence = evidenceOf(voicing, opinion);
  let state: "silence" | "candidate" | "voice" = "silence";
  let [now, onset, sound] = [0, 0, 0];
  /** End of the last sound, and of the last sound of speech. */
  let [lastSound, lastVoice] = [0, -Infinity];
  /** How long the last voice spoke, the quietest step since, and whether the sound under way may be it again. */
  let [spoke, quietest] = [0, Infinity];
  let again = false;

  function begun(): void {
    if (state === "silence") {
      again = spoke >= AGAIN_SPEECH_MS && now - lastVoice < AGAIN_MS && quietest < talker.power * PAUSE;
      [state, onset, sound] = ["candidate", now - STEP_MS, 0];
      voicing.begin();
    }
    sound += STEP_MS;
    lastSound = now;
  }
  function heard(audible: boolean): void {
    if (audible) begun();
    evidence.step(audible, state === "voice");
    if (!audible) return;
    if (state === "candidate" && now - onset >= START_MS && sound >= START_SOUND_MS && evidence.begins(again)) {
      state = "voice";
      onset = Math.max(onset, now - LONGEST_ONSET_MS);
    }
    if (state !== "voice" || !evidence.goesOn()) return;
    lastVoice = now;
    spoke = now - onset;
    quietest = Infinity;
  }
  const audible = (power: StepPower): boolean => {
    quietest = Math.min(quietest, power.all);
    return levels.passes(power, state === "silence");
  };

  return {
    talker,
    step(power: StepPower): void {
      now += STEP_MS;
      talker.step(power.all, state === "voice" && now - lastVoice <= GAP_MS);
      heard(audible(power));
      if (state === "voice" ? now - lastVoice >= STOP_MS : now - lastSound >= GAP_MS) state = "silence";
    },
    activity(): VoiceActivity {
      const silence = now - lastVoice;
      const speaking = state === "voice";
      return {
        speaking,
        speech_ms: speaking ? lastVoice - onset : 0,
        silence_ms: speaking && silence < GAP_MS ? 0 : silence,
        quiet_ms: levels.quiet_ms,
        faint: talker.faint,
        familiar: talker.familiar,
      };
    },
  };
}

/** What a detector is made with: samples a second, and how easily it takes a sound for a voice. */
export interface VadOptions {
  rate: number;
  sensitivity?: keyof typeof SENSITIVITY_DB;
  /** Is asked about each sound; without one, or while it does not answer, a voice is told by its pitch. */
  model?: VoiceModel | undefined;
}

/** Detects the speech of whoever holds the telephone, frame by frame (5 to 100 ms long), by its level above noise and other voices and by its pitch; takes microseconds a frame and keeps no audio. */
export function energyVad({ rate, sensitivity = "normal", model }: VadOptions) {
  const stepSamples = Math.round((rate * STEP_MS) / 1000);
  const voicing = new Voicing(rate);
  const opinion = new SecondOpinion(rate, model);
  const detect = detector(voicing, opinion, ratioOf(SENSITIVITY_DB[sensitivity]));
  const bands = new BandPower(rate);
  return {
    push(pcm: Pcm): VoiceActivity {
      for (let from = 0; from < pcm.length;) {
        const to = Math.min(pcm.length, from + stepSamples - bands.count);
        voicing.push(pcm, from, to);
        opinion.push(pcm, from, to);
        bands.add(pcm, from, to);
        from = to;
        if (bands.count === stepSamples) detect.step(bands.take());
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
