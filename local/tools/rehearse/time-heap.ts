/** Things in the order of their times; of equal times the first one put in comes first. */
export interface Heap<T> {
  readonly size: number;
  push(at: number, item: T): void;
  /** Time of the first; null: it is empty. */
  next(): number | null;
  /** Takes the first; null: it is empty. */
  pop(): T | null;
  /** Takes out everything, in no order. */
  drain(): T[];
}

interface Entry<T> {
  at: number;
  serial: number;
  item: T;
}

const before = <T>(a: Entry<T>, b: Entry<T>): boolean => a.at < b.at || (a.at === b.at && a.serial < b.serial);

/** An empty heap. */
export function createHeap<T>(): Heap<T> {
  let entries: Entry<T>[] = [];
  let serial = 0;

  const down = (moved: Entry<T>): void => {
    let i = 0;
    for (;;) {
      const [left, right] = [entries[2 * i + 1], entries[2 * i + 2]];
      if (!left) break;
      const child = right && before(right, left) ? right : left;
      if (!before(child, moved)) break;
      entries[i] = child;
      i = child === left ? 2 * i + 1 : 2 * i + 2;
    }
    entries[i] = moved;
  };

  return {
    get size() {
      return entries.length;
    },
    push(at, item) {
      const added = { at, serial: serial++, item };
      let i = entries.length;
      entries.push(added);
      for (;;) {
        const above = Math.floor((i - 1) / 2);
        const parent = entries[above];
        if (i === 0 || !parent || !before(added, parent)) break;
        entries[i] = parent;
        i = above;
      }
      entries[i] = added;
    },
    next: () => entries[0]?.at ?? null,
    pop() {
      const first = entries[0];
      const last = entries.pop();
      if (!first || !last) return null;
      if (entries.length > 0) down(last);
      return first.item;
    },
    drain() {
      const all = entries.map((e) => e.item);
      entries = [];
      return all;
    },
  };
}
