import DataLoader from "dataloader";
import { jsonBytes } from "./json.ts";

/** Batches of one loader under way at the same time: one at the database or on the bus, one that fills behind it. */
const BATCHES_AT_ONCE = 2;

/** Most bytes of payload in one message on the bus: NATS takes a megabyte, and JSON and the rest of the message need room beside it. */
export const MAX_MESSAGE_BYTES = 400_000;

/** An item of more bytes is large: it takes so long on its way that no small one should share its message, or wait for it. */
const LARGE_BYTES = 16_384;

/** Bounds of a batch: items, and bytes as `bytesOf` counts them where the batch becomes messages on the bus. */
export interface BatchBounds<In> {
  maxItems: number;
  bytesOf?: (item: In) => number;
}

/**
 * Splits a list into chunks of at most `maxItems` items and, with `bytesOf`, at most `maxBytes` bytes. An item larger than that is a chunk of its own.
 */
export function chunks<T>(
  items: readonly T[],
  { maxItems, bytesOf, maxBytes = MAX_MESSAGE_BYTES }: BatchBounds<T> & { maxBytes?: number },
): T[][] {
  const out: T[][] = [];
  let chunk: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = bytesOf?.(item) ?? 0;
    if (chunk.length > 0 && (bytes + size > maxBytes || chunk.length >= maxItems)) {
      out.push(chunk);
      chunk = [];
      bytes = 0;
    }
    chunk.push(item);
    bytes += size;
  }
  if (chunk.length > 0) out.push(chunk);
  return out;
}

/** The same with the small items first and the large ones apart: none that is small waits for a message with a large one in it. Not in the order of the list. */
export function chunksApart<T>(items: readonly T[], { maxItems, bytesOf }: Required<BatchBounds<T>>): T[][] {
  const sized = items.map((item) => ({ item, bytes: bytesOf(item) }));
  return [false, true].flatMap((large) =>
    chunks(
      sized.filter(({ bytes }) => bytes > LARGE_BYTES === large),
      { maxItems, bytesOf: ({ bytes }) => bytes },
    ).map((some) => some.map(({ item }) => item)),
  );
}

/** The first of the items, as many as fit into one message; one at least, or a list cut in pages would never end. */
export const fitting = <T>(
  items: readonly T[],
  bytesOf: (item: T) => number = jsonBytes,
  maxBytes: number = MAX_MESSAGE_BYTES,
): T[] => chunks(items, { maxItems: Number.POSITIVE_INFINITY, bytesOf, maxBytes })[0] ?? [];

/** Of JSON: the brackets of a list or an object; the comma behind an item, and the colon behind a name. */
const BRACKETS_BYTES = 2;
const COMMA_BYTES = 1;
const COLON_BYTES = 1;

/** The last of the items, as many as fit into a list of so many bytes as JSON; none where the very last does not. */
export function newestFitting<T>(items: readonly T[], bytes: number = MAX_MESSAGE_BYTES): T[] {
  let room = bytes - BRACKETS_BYTES;
  let from = items.length;
  while (from > 0) {
    room -= jsonBytes(items[from - 1]) + COMMA_BYTES;
    if (room < 0) break;
    from--;
  }
  return items.slice(from);
}

/** An object's fields, as many as fit into so many bytes as JSON, without the largest, and the names of those. */
export function smallestFitting(
  fields: Readonly<Record<string, unknown>>,
  bytes: number,
): { kept: Record<string, unknown>; left: string[] } {
  const sized = Object.entries(fields)
    .map(([name, value]) => ({ name, bytes: jsonBytes(name) + COLON_BYTES + jsonBytes(value) + COMMA_BYTES }))
    .sort((a, b) => b.bytes - a.bytes);
  let excess = sized.reduce((sum, of) => sum + of.bytes, BRACKETS_BYTES) - bytes;
  const left = new Set<string>();
  for (const of of sized) {
    if (excess <= 0) break;
    left.add(of.name);
    excess -= of.bytes;
  }
  return { kept: Object.fromEntries(Object.entries(fields).filter(([name]) => !left.has(name))), left: [...left] };
}

/**
 * Turns a request for many into a function for one, as DataLoader does without its cache: calls of about the same moment share one `run`, at most two
 * runs are under way, and what comes meanwhile fills the next. A lone call waits for no more than the end of the event loop's turn. With `bytesOf` large
 * items are batched apart, so that small ones wait for none of them.
 * `run` answers for its items in order; when it throws, every call of that run fails.
 */
export function batched<In, Out>(
  run: (items: In[]) => Promise<readonly Out[]>,
  { maxItems, bytesOf }: BatchBounds<In>,
): (item: In) => Promise<Out> {
  if (bytesOf === undefined) return inBatches(run, maxItems);
  type Sized = { item: In; bytes: number };
  const inParts = async (items: Sized[]): Promise<readonly Out[]> => {
    const parts = chunks(items, { maxItems, bytesOf: ({ bytes }) => bytes });
    return (await Promise.all(parts.map((part) => run(part.map(({ item }) => item))))).flat();
  };
  const [small, large] = [inBatches(inParts, maxItems), inBatches(inParts, maxItems)];
  return (item) => {
    const bytes = bytesOf(item);
    return (bytes > LARGE_BYTES ? large : small)({ item, bytes });
  };
}

/** Batches of at most so many items, two at a time. */
function inBatches<In, Out>(
  run: (items: In[]) => Promise<readonly Out[]>,
  maxItems: number,
): (item: In) => Promise<Out> {
  const filling: (() => void)[] = [];
  let running = 0;
  let planned = false;

  const plan = (): void => {
    if (planned || filling.length === 0 || running >= BATCHES_AT_ONCE) return;
    planned = true;
    setImmediate(() => {
      planned = false;
      filling.shift()?.();
      plan();
    });
  };

  const loader = new DataLoader<In, Out>(
    async (items) => {
      running++;
      try {
        const answers = await run([...items]);
        return items.map((_item, i) => answers[i] ?? unanswered(answers, i));
      } finally {
        running--;
        plan();
      }
    },
    {
      cache: false,
      maxBatchSize: maxItems,
      batchScheduleFn: (dispatch) => {
        filling.push(dispatch);
        plan();
      },
    },
  );
  return (item) => loader.load(item);
}

/** What stands for an answer that is not there; null is an answer. */
function unanswered<Out>(answers: readonly Out[], i: number): Out | Error {
  const answer = answers[i];
  return answer === undefined ? new Error("a batch left one of its items without an answer") : answer;
}
