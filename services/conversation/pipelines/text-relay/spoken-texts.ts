import { lastHeard, totalSpeechMs, type Utterance } from "../../audio/speech-duration.ts";
import type { Clock } from "../../../../shared/time/clock.ts";
import { SETTLED_MS, playbackEstimate } from "./playback-estimate.ts";

/** A carrier that reports its speech reports the beginning of a text this soon after it has it, ms. */
const BEGINS_MS = 3000;

interface Text extends Utterance {
  text: string;
  sent_ms: number;
  /** The carrier has spoken since it has it. */
  begun: boolean;
}

/** Our texts at a carrier that speaks them: what was heard of them, by its own reports where it makes any, else by their length. */
export interface SpokenTexts {
  /** A piece of a text; `last` ends it. */
  sent(piece: string, last: boolean): void;
  /** The carrier reports that our speech became audible, or silent. */
  audible(now: boolean): void;
  /** Nothing of what was sent will be heard any more. */
  stop(): void;
  /** All that was sent was heard: what follows is accounted for by itself. */
  heardAll(): void;
  /** Milliseconds until the end of our speech; 0 when it is over. */
  leftMs(): number;
  /** Milliseconds for which the carrier, which reports its speech, may still begin the latest text; 0: it has begun, or will not. */
  beginsMs(): number;
  /** The carrier reports its speech, and has given no sign of the latest text. */
  readonly unspoken: boolean;
  /** The words that were heard of the text that was heard last. */
  heard(): string;
}

/** Starts with silence. */
export function spokenTexts(clock: Clock): SpokenTexts {
  const playback = playbackEstimate(clock);
  let texts: Text[] = [];
  let open = false;
  let reports = false;
  const isUnspoken = (): boolean => reports && texts.at(-1)?.begun === false;
  return {
    sent(piece, last) {
      playback.sent(piece);
      const grown = open ? texts.at(-1) : undefined;
      if (grown) grown.text += piece;
      else if (piece !== "")
        texts.push({ text: piece, interruptible: true, sent_ms: clock.monotonicMs(), begun: false });
      open = !last;
    },
    audible(on) {
      reports ||= on;
      // silence that comes right after a text may not be about it
      const known = on ? Infinity : clock.monotonicMs() - SETTLED_MS;
      for (const text of texts) text.begun ||= text.sent_ms <= known;
      playback.audible(on);
    },
    stop() {
      playback.stop();
      texts = [];
      open = false;
    },
    heardAll() {
      texts = open ? texts.slice(-1) : [];
    },
    leftMs: () => playback.leftMs(),
    beginsMs: () => (isUnspoken() ? Math.max(0, (texts.at(-1)?.sent_ms ?? 0) + BEGINS_MS - clock.monotonicMs()) : 0),
    get unspoken() {
      return isUnspoken();
    },
    heard() {
      const begun = reports ? texts.filter((text) => text.begun) : texts;
      return lastHeard(begun, Math.max(0, totalSpeechMs(texts) - playback.leftMs()));
    },
  };
}
