import type { ProcessorEvents } from "../voice-processor.ts";
import type { CallerWords } from "./caller-words.ts";

/** What is behind the filter. `opening`: our first words are not over, and nothing was asked. `discardTurn`: what was heard of the turn is void. */
export interface HeardEventsDeps {
  readonly words: CallerWords;
  readonly events: ProcessorEvents;
  opening(): boolean;
  /** What ended so many milliseconds ago is our own speech that the line returned. */
  isEcho(text: string, ended_ms: number, partial: boolean): boolean;
  discardTurn(): void;
}

/** What people say with few words takes no longer, ms. */
const FEW_WORDS_MS = 3000;

/** The events of a processor without words that are no turn: nobody said them, or only that they have picked up. */
export function heardEvents({ words, events, opening, isEcho, discardTurn }: HeardEventsDeps): ProcessorEvents {
  const isNone = (text: string, partial: boolean): boolean =>
    words.isPhantom(text) || (opening() && words.isPickUp(text, partial));
  return {
    ...events,
    partialTranscript(text) {
      if (!isNone(text, true) && !words.isUndecided(text) && !isEcho(text, 0, true)) events.partialTranscript(text);
    },
    turnEnded(text, timing) {
      const isLong = (timing.sound_ms ?? 0) > FEW_WORDS_MS && words.isDoubtful(text);
      if (!isLong && !isNone(text, false) && !isEcho(text, timing.eou_ms, false)) {
        events.turnEnded(text, timing);
        return;
      }
      events.noSpeech();
      discardTurn();
    },
  };
}
