/** Puts numbered frames into order that may arrive out of order, repeated or not at all. */
export interface ReorderBuffer<T> {
  /** Takes a frame and delivers what is in order now. Number null: the frame is delivered as it comes. */
  push(number: number | null, frame: T): void;
  /** Delivers the buffered frames: no more frames arrive. */
  flush(): void;
}

/** Frames buffered while one is missing: a tenth of a second of 20 ms frames, then it counts as lost. */
const MAX_HELD_FRAMES = 5;
/** This many late numbers in a row are no repeats: the carrier counts anew. */
const RESTART_AFTER = 25;
/** Where carriers begin to count, or lower. */
const FIRST = 1;

/** The buffer of a new stream. */
export function reorderBuffer<T>(deliver: (frame: T) => void): ReorderBuffer<T> {
  const held = new Map<number, T>();
  let next: number | null = null;
  let late = 0;

  const deliverHeld = (): void => {
    for (let at = next ?? FIRST; held.has(at); next = ++at) {
      const frame = held.get(at);
      held.delete(at);
      if (frame !== undefined) deliver(frame);
    }
  };
  const skipMissing = (): void => {
    next = Math.min(...held.keys());
    deliverHeld();
  };
  return {
    push(number, frame) {
      if (number === null) {
        deliver(frame);
        return;
      }
      next ??= Math.min(number, FIRST);
      if (number < next) {
        if (++late < RESTART_AFTER) return;
        while (held.size > 0) skipMissing();
        next = number;
      }
      late = 0;
      if (number === next) {
        next++;
        deliver(frame);
        deliverHeld();
        return;
      }
      held.set(number, frame);
      if (held.size >= MAX_HELD_FRAMES) skipMissing();
    },
    flush() {
      while (held.size > 0) skipMissing();
    },
  };
}
