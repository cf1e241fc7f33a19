/** Puts numbered frames into order that may come out of it, more than once, or not at all. */
export interface ReorderBuffer<T> {
  /** Takes a frame; `give` gets what can go on now, in order. Null: a frame without a number goes on as it comes. */
  push(number: number | null, frame: T): void;
  /** Nothing more will come: what is held back goes on. */
  flush(): void;
}

/** Frames held back for one that is missing: a tenth of a second of 20 ms frames, then it counts as lost. */
const MAX_HELD = 5;
/** So many numbers in a row that are behind are no repeats: the carrier has begun to count anew. */
const RESTART_AFTER = 25;
/** Where carriers begin to count, or lower. */
const FIRST = 1;

/** Starts with the first frame of a stream. */
export function reorderBuffer<T>(give: (frame: T) => void): ReorderBuffer<T> {
  const held = new Map<number, T>();
  let next: number | null = null;
  let behind = 0;

  const release = (): void => {
    for (let at = next ?? FIRST; held.has(at); next = ++at) {
      const frame = held.get(at);
      held.delete(at);
      if (frame !== undefined) give(frame);
    }
  };
  const skip = (): void => {
    next = Math.min(...held.keys());
    release();
  };
  return {
    push(number, frame) {
      if (number === null) {
        give(frame);
        return;
      }
      next ??= Math.min(number, FIRST);
      if (number < next) {
        if (++behind < RESTART_AFTER) return;
        while (held.size > 0) skip();
        next = number;
      }
      behind = 0;
      if (number === next) {
        next++;
        give(frame);
        release();
        return;
      }
      held.set(number, frame);
      if (held.size >= MAX_HELD) skip();
    },
    flush() {
      while (held.size > 0) skip();
    },
  };
}
