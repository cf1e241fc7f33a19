import type { Clock } from "../../../shared/clock.ts";
import { startTimer } from "../timer.ts";

/** Pause after a key that ends an entry (voice.md 6). */
export const INTER_DIGIT_MS = 3000;
const MAX_DIGITS = 32;
const END_KEY = "#";

/** Gathers keys to entries: `#` or a pause ends one. */
export interface Keypad {
  /** A key; `gather` false: it counts by itself. */
  press(digit: string, gather: boolean): void;
  /** Gives what has been gathered so far. */
  flush(): void;
  stop(): void;
}

/** `entered` gets each entry, without its end key. */
export function keypad(clock: Clock, entered: (digits: string) => void): Keypad {
  let digits = "";
  let cancel = (): void => undefined;
  const flush = (): void => {
    cancel();
    const entry = digits;
    digits = "";
    if (entry !== "") entered(entry);
  };
  return {
    press(digit, gather) {
      cancel();
      if (!gather) { digits += digit; flush(); return; }
      if (digit === END_KEY && digits !== "") { flush(); return; }
      digits += digit;
      if (digit === END_KEY || digits.length >= MAX_DIGITS) { flush(); return; }
      cancel = startTimer(clock, INTER_DIGIT_MS, flush);
    },
    flush,
    stop: () => cancel(),
  };
}
