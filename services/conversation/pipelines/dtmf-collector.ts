import type { Clock } from "../../../shared/time/clock.ts";
import type { DtmfCollection } from "../dialogue/flow.ts";
import { startTimer } from "../../../shared/time/timer.ts";

/** Collects DTMF to entries, as the node wants it: an end key, a length or a pause ends one. */
export interface DtmfCollector {
  /** A digit; `collection` null: it counts by itself. */
  push(digit: string, collection: DtmfCollection | null): void;
  /** Reports what has been collected so far. */
  flush(): void;
  stop(): void;
}

/** `entered` gets each entry, without its end key. */
export function dtmfCollector(clock: Clock, entered: (digits: string) => void): DtmfCollector {
  let digits = "";
  let cancel = (): void => undefined;
  const flush = (): void => {
    cancel();
    const entry = digits;
    digits = "";
    if (entry !== "") entered(entry);
  };
  return {
    push(digit, collection) {
      cancel();
      if (!collection) {
        digits += digit;
        flush();
        return;
      }
      const ends = digit === collection.end_key;
      if (!ends || digits === "") digits += digit;
      if (ends || digits.length >= collection.max_digits) {
        flush();
        return;
      }
      cancel = startTimer(clock, collection.pause_ms, flush);
    },
    flush,
    stop: () => cancel(),
  };
}
