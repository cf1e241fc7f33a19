import type { ProcessorEvents } from "../voice-processor.ts";
import type { CallerWords } from "./caller-words.ts";

/** What is behind the filter. `discardTurn`: what was heard of the turn is void. */
export interface HeardEventsDeps {
  readonly words: CallerWords;
  readonly events: ProcessorEvents;
  discardTurn(): void;
}

/** The events of a processor without the words that nobody said. */
export function heardEvents({ words, events, discardTurn }: HeardEventsDeps): ProcessorEvents {
  return {
    ...events,
    partialTranscript(text) {
      if (!words.isPhantom(text) && !words.isUndecided(text)) events.partialTranscript(text);
    },
    turnEnded(text, timing) {
      if (!words.isPhantom(text)) {
        events.turnEnded(text, timing);
        return;
      }
      events.noSpeech();
      discardTurn();
    },
  };
}
