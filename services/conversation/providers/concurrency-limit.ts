import { unlessAborted } from "./deadline.ts";

/** So much at the same time, and no more. */
export interface Places {
  /** Does the work once there is a place for it; who gives up while waiting takes none. */
  hold<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

/** A number of places, given in the order in which they were asked for. */
export function places(most: number): Places {
  let free = most;
  const queue: (() => void)[] = [];
  const leave = (): void => {
    const next = queue.shift();
    if (next === undefined) free++;
    else next();
  };
  async function enter(signal: AbortSignal): Promise<void> {
    if (free > 0) {
      free--;
      return;
    }
    let take = (): void => undefined;
    const turn = new Promise<void>((resolve) => {
      take = resolve;
    });
    queue.push(take);
    try {
      await unlessAborted(turn, signal);
    } catch (error) {
      const at = queue.indexOf(take);
      // the place came at the same moment
      if (at === -1) leave();
      else queue.splice(at, 1);
      throw error;
    }
  }
  return {
    async hold(signal, work) {
      await enter(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
