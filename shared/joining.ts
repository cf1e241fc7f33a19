/** Runs under way at the same time: one at the database, one that gathers behind it. */
const RUNS_AT_ONCE = 2;

interface Waiting<In, Out> {
  item: In;
  resolve(out: Out): void;
  reject(error: unknown): void;
}

/**
 * Joins calls that come at about the same moment into one run over all their items, so that many callers at once cost one round trip.
 * `run` answers for its items in order; when it throws, every call of that run fails. A lone call waits for nothing but the end of the event loop's turn.
 */
export function joining<In, Out>(
  run: (items: In[]) => Promise<readonly Out[]>,
  maxItems: number,
): (item: In) => Promise<Out> {
  let waiting: Waiting<In, Out>[] = [];
  let running = 0;
  let planned = false;

  const plan = (): void => {
    if (planned || waiting.length === 0 || running >= RUNS_AT_ONCE) return;
    planned = true;
    setImmediate(() => {
      planned = false;
      start();
    });
  };
  const start = (): void => {
    const batch = waiting.slice(0, maxItems);
    waiting = waiting.slice(maxItems);
    if (batch.length === 0) return;
    running++;
    run(batch.map((w) => w.item))
      .then(
        (outs) =>
          batch.forEach((w, i) => {
            const out = outs[i];
            if (out === undefined) w.reject(new Error("a joined run left one of its items without an answer"));
            else w.resolve(out);
          }),
        (error: unknown) => batch.forEach((w) => w.reject(error)),
      )
      .finally(() => {
        running--;
        plan();
      })
      .catch(() => undefined);
    plan();
  };

  return (item) =>
    new Promise<Out>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      plan();
    });
}
