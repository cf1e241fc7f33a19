import { wavHeader } from "../../speech/wav.ts";
import type { Call } from "./call.ts";

/** What came of recording a line: a stereo file, the person on the left, the agent on the right. `wav` is made when it is read. */
export interface LegRecording {
  readonly wav: Buffer;
  seconds: number;
  channels: 2;
}

/** A recording under way. */
export interface LegRecorder {
  stop(): LegRecording;
}

/** Recordings end here, simulated ms: a forgotten call must not fill the memory. */
const MAX_RECORDED_MS = 600_000;
const SAMPLES_PER_SECOND = 8_000;
const SAMPLES_PER_MS = SAMPLES_PER_SECOND / 1_000;
const BYTES_PER_SAMPLE = 2;
const CHANNELS = 2;
/** A voice is a row of words: a tone of this length, then a short gap. */
const WORD_MS = 320;
const GAP_MS = 80;
const KEY_MS = 100;
/** Each voice has its own pitch, so that one can tell them apart by ear and by a test. */
const PITCH_HZ = { person: [220], agent: [440] } as const;
const LOUDNESS = 8_000;
/** The two tones of each key (ITU-T Q.23). */
const KEY_HZ: Record<string, readonly [number, number]> = {
  1: [697, 1209],
  2: [697, 1336],
  3: [697, 1477],
  4: [770, 1209],
  5: [770, 1336],
  6: [770, 1477],
  7: [852, 1209],
  8: [852, 1336],
  9: [852, 1477],
  0: [941, 1336],
  "*": [941, 1209],
  "#": [941, 1477],
};

/** A stretch of sound in one of the channels, simulated ms from the beginning. */
interface Stretch {
  channel: 0 | 1;
  fromMs: number;
  untilMs: number;
  tone: Int16Array;
}

/** A frame of real sound at 8 kHz, samples from the beginning. */
interface Frame {
  channel: 0 | 1;
  at: number;
  pcm: Int16Array;
}

/** One period of a sound that is repeated as long as the stretch lasts. */
function toneOf(hertz: readonly number[], soundMs: number, gapMs: number): Int16Array {
  const samples = new Int16Array((soundMs + gapMs) * SAMPLES_PER_MS);
  for (let n = 0; n < soundMs * SAMPLES_PER_MS; n += 1) {
    const level = hertz.reduce((sum, hz) => sum + Math.sin((2 * Math.PI * hz * n) / SAMPLES_PER_SECOND), 0);
    samples[n] = Math.round((LOUDNESS * level) / hertz.length);
  }
  return samples;
}

const VOICES = { person: toneOf(PITCH_HZ.person, WORD_MS, GAP_MS), agent: toneOf(PITCH_HZ.agent, WORD_MS, GAP_MS) };
const CHANNEL_OF = { person: 0, agent: 1 } as const;

/** Sound of another rate as the file has it: the mean of the samples that fall together. */
function at8kHz(pcm: Int16Array, rate: number): Int16Array {
  const step = Math.round(rate / SAMPLES_PER_SECOND);
  if (step <= 1) return pcm;
  return Int16Array.from({ length: Math.floor(pcm.length / step) }, (_, n) =>
    Math.round(pcm.subarray(n * step, (n + 1) * step).reduce((sum, sample) => sum + sample, 0) / step),
  );
}

/** Keeps real sound: each frame where the one before ended, or where the clock is when there was a pause. A machine that stood still tears no word apart. */
function keepFrames(nowMs: () => number): {
  frames: Frame[];
  keep(who: "agent" | "person", pcm: Int16Array, rate: number, follows: boolean): void;
} {
  const frames: Frame[] = [];
  const ends = { person: 0, agent: 0 };
  return {
    frames,
    keep(who, pcm, rate, follows) {
      const heard = at8kHz(pcm, rate);
      const clock = Math.round(nowMs() * SAMPLES_PER_MS) - heard.length;
      const at = follows ? ends[who] : Math.max(clock, ends[who]);
      ends[who] = at + heard.length;
      if (at < MAX_RECORDED_MS * SAMPLES_PER_MS) frames.push({ channel: CHANNEL_OF[who], at, pcm: heard });
    },
  };
}

/** The file: silence where neither side speaks. */
function render(stretches: readonly Stretch[], sound: readonly Frame[], lengthMs: number): Buffer {
  const frames = Math.round(lengthMs * SAMPLES_PER_MS);
  const data = Buffer.alloc(frames * CHANNELS * BYTES_PER_SAMPLE);
  for (const { channel, fromMs, untilMs, tone } of stretches) {
    const first = Math.round(fromMs * SAMPLES_PER_MS);
    const end = Math.min(frames, Math.round(untilMs * SAMPLES_PER_MS));
    for (let frame = first; frame < end; frame += 1)
      data.writeInt16LE(tone[(frame - first) % tone.length] ?? 0, (frame * CHANNELS + channel) * BYTES_PER_SAMPLE);
  }
  for (const { channel, at, pcm } of sound) {
    const end = Math.min(frames, at + pcm.length);
    for (let frame = Math.max(0, at); frame < end; frame += 1)
      data.writeInt16LE(pcm[frame - at] ?? 0, (frame * CHANNELS + channel) * BYTES_PER_SAMPLE);
  }
  return Buffer.concat([wavHeader(SAMPLES_PER_SECOND, CHANNELS, frames), data]);
}

/**
 * Records both sides of a call from now on, in simulated time: a compressed call has a recording as long as the conversation would have been. Ends by `stop` (which may be called
 * again) or with the call; words become tones of the same timing, so that the same conversation always gives the same file. Of a leg with audio the audio itself is recorded, as it was played
 * and spoken.
 */
export function recordLeg(call: Call): LegRecorder {
  const { time } = call.leg;
  const startedMs = time.elapsedMs();
  const stretches: Stretch[] = [];
  const open: Record<"agent" | "person", Stretch[]> = { agent: [], person: [] };
  let done: LegRecording | null = null;
  const now = (): number => Math.min(MAX_RECORDED_MS, time.elapsedMs() - startedMs);
  const begin = (who: "agent" | "person", fromMs: number, untilMs: number, tone: Int16Array): Stretch => {
    const stretch = { channel: CHANNEL_OF[who], fromMs, untilMs, tone };
    if (fromMs < MAX_RECORDED_MS) stretches.push(stretch);
    return stretch;
  };
  const { frames, keep } = keepFrames(now);
  const leave = call.leg.listen({
    frame: keep,
    sounding(who, on) {
      if (on) {
        open[who].push(begin(who, now(), MAX_RECORDED_MS, VOICES[who]));
        return;
      }
      const stretch = open[who].shift();
      if (stretch) stretch.untilMs = now();
    },
    key(digit) {
      begin("person", now(), now() + KEY_MS, toneOf(KEY_HZ[digit] ?? PITCH_HZ.person, KEY_MS, 0));
    },
  });
  const stop = (): LegRecording => {
    if (done) return done;
    leave();
    const lengthMs = now();
    done = {
      get wav() {
        return render(stretches, frames, lengthMs);
      },
      seconds: Math.round(lengthMs / 1000),
      channels: CHANNELS,
    };
    return done;
  };
  call.over.addEventListener("abort", stop, { once: true });
  return { stop };
}
