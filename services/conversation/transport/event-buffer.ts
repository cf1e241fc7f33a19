import type { MediaLegEvents } from "./port.ts";

/** Something that happened on a leg, to be told to whoever listens. */
export type Happening = (events: MediaLegEvents) => void;

/** Tells a leg's receiver what happens, what came before there was one first; `closed` once and last. */
export interface Mailbox {
  listen(events: MediaLegEvents): void;
  tell(what: Happening): void;
  close(): void;
  isOpen(): boolean;
}

/** Events kept until somebody listens, the closing included. */
const MAX_EARLY_EVENTS = 100;

/** One for each leg. */
export function mailbox(): Mailbox {
  let receiver: MediaLegEvents | null = null;
  let early: Happening[] = [];
  let isOpen = true;
  const give = (what: Happening, most: number): void => {
    if (receiver) what(receiver);
    else if (early.length < most) early.push(what);
  };
  return {
    listen(events) {
      receiver = events;
      const waiting = early;
      early = [];
      for (const what of waiting) what(events);
    },
    tell: (what) => {
      if (isOpen) give(what, MAX_EARLY_EVENTS - 1);
    },
    close() {
      if (!isOpen) return;
      isOpen = false;
      give((e) => e.closed(), MAX_EARLY_EVENTS);
    },
    isOpen: () => isOpen,
  };
}
