import { phrasesFor } from "../../../shared/phrases.ts";
import { within } from "../../../shared/time/deadline.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { codecFor } from "../audio/g711.ts";
import { resampler } from "../audio/resampler.ts";
import { speakable } from "../../../shared/speakable/speakable-text.ts";
import { speechMs } from "../audio/speech-duration.ts";
import type { SpeechModel } from "../providers/port.ts";
import { AudioPlayout } from "../transport/audio-playout.ts";
import type { FrameClock } from "../transport/frame-clock.ts";
import { FRAME_MS, NO_TEXT_EVENTS, type MediaLeg, type TextLeg } from "../transport/port.ts";

/** The carrier gets this long to close a leg that we ended. */
export const DISMISS_MS = 3000;
/** The carrier's session must be ready this soon after its socket opened. */
const READY_MS = 3000;
/** The first sound of a sentence must be there this soon: it was synthesised before, or it is not waited for. */
const FIRST_SOUND_MS = 500;
/** No sentence is longer. */
const MAX_SENTENCE_MS = 12_000;
const SPEECH_MARGIN_MS = 500;

/** The sentence that ends a call whose conversation can't be held, in a BCP 47 language. */
export const troubleIn = (language: string): string => phrasesFor(language).trouble;

const wait = async (clock: Clock, ms: number, ...until: AbortController[]): Promise<void> =>
  clock.wait(ms, AbortSignal.any(until.map(({ signal }) => signal)));

/** Says one sentence on a leg on which the carrier speaks, and ends the call. Within a time limit. */
export async function endInWords(leg: TextLeg, sentence: string, clock: Clock): Promise<void> {
  const [ready, said, gone] = [new AbortController(), new AbortController(), new AbortController()];
  leg.listen({
    ...NO_TEXT_EVENTS,
    ready: () => {
      leg.say(sentence, { last: true, interruptible: false });
      ready.abort();
    },
    speaking: (now) => {
      if (!now && ready.signal.aborted) said.abort();
    },
    closed: () => gone.abort(),
  });
  await wait(clock, READY_MS, ready, gone);
  // an XML-driven leg speaks its last words and ends by one document
  if (ready.signal.aborted && !leg.giveFloor) await wait(clock, speechMs(sentence) + SPEECH_MARGIN_MS, said, gone);
  leg.end();
  await wait(clock, DISMISS_MS, gone);
  leg.close();
}

/** Plays a sentence; resolves when it has been heard, or at once where its sound is not there. */
async function play(
  playout: AudioPlayout,
  rate: number,
  sentence: string,
  { clock, frames, speech }: FarewellSpeech,
  gone: AbortController,
): Promise<void> {
  const stop = frames.subscribe(() => playout.tick());
  const sink = playout.add({ text: sentence, group: 1, interruptible: false, aside: false });
  const turned = resampler(speech.rate, rate);
  const enough = new AbortController();
  try {
    const synthesis = speech.speak(speakable(sentence), AbortSignal.any([gone.signal, enough.signal]));
    const sound = synthesis[Symbol.asyncIterator]();
    let next = sound.next();
    if (!(await within(clock, FIRST_SOUND_MS, next))) return;
    for (let piece = await next; piece.done !== true; piece = await next) {
      sink.push(turned.push(piece.value));
      next = sound.next();
    }
    sink.push(turned.end());
    sink.end();
    const untilMs = clock.monotonicMs() + MAX_SENTENCE_MS;
    while (playout.busy && !gone.signal.aborted && clock.monotonicMs() < untilMs) await wait(clock, FRAME_MS, gone);
  } finally {
    stop();
    enough.abort();
  }
}

/** What a sentence is spoken with. */
export interface FarewellSpeech {
  clock: Clock;
  frames: FrameClock;
  speech: SpeechModel;
}

/** Says one sentence on a leg of audio where its sound is at hand, and closes the leg. Within a time limit. `how` null: nothing synthesises speech here. */
export async function endInSound(
  leg: MediaLeg,
  sentence: string,
  clock: Clock,
  how: FarewellSpeech | null,
): Promise<void> {
  const over = new AbortController();
  const gone = new AbortController();
  let playing = Promise.resolve();
  let playout: AudioPlayout | null = null;
  const ignore = (): void => undefined;
  leg.listen({
    ready: (_call_id, { rate, codec }) => {
      if (how === null) return;
      playout = new AudioPlayout({ leg, clock, rate, encode: codecFor(codec).encode });
      playing = play(playout, rate, sentence, how, gone)
        .catch(ignore)
        .finally(() => over.abort());
    },
    audio: ignore,
    digit: ignore,
    mark: (name) => playout?.markReturned(name),
    fault: ignore,
    refused: ignore,
    closed: () => {
      gone.abort();
      over.abort();
    },
  });
  await wait(clock, how === null ? 0 : READY_MS + MAX_SENTENCE_MS, over);
  leg.close();
  await wait(clock, DISMISS_MS, gone);
  gone.abort();
  await playing;
  leg.close();
}
