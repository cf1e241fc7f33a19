import type { Model, QueryFilter } from "mongoose";
import { fitting, MAX_MESSAGE_BYTES } from "./batching.ts";
import { DEFAULT_PAGE } from "./contracts/records/identity.ts";
import { fail } from "./errors.ts";
import { jsonBytes } from "./json.ts";

/** Where a document stands in a list: newest first, ids break ties. */
export interface Position {
  created_at: Date;
  _id: string;
}

/** The order of every list; an index on (…filters, created_at -1, _id -1) serves it. */
export const PAGE_ORDER = { created_at: -1, _id: -1 } as const;

/** The part of a filter that leaves out everything up to and including a position. The first bound lets an index range on created_at do the work. */
export type PageFilter =
  | Record<string, never>
  | { created_at: { $lte: Date }; $or: ({ created_at: { $lt: Date } } | { _id: { $lt: string } })[] };

/** Latest instant a Date can hold, in milliseconds. */
const LAST_MS = 8.64e15;
const LONGEST_ID = 150;
const PLAIN = /^([0-9a-z]{1,11})\.([^]{1,150})$/;

/** A position as an opaque word for clients: base64url of the time and the id. */
export const encodeCursor = (at: Position): string =>
  Buffer.from(`${at.created_at.getTime().toString(36)}.${at._id}`, "utf8").toString("base64url");

/** The position a cursor stands for. VALIDATION_FAILED for anything this service did not hand out. */
export function decodeCursor(cursor: string): Position {
  const [, time = "", _id = ""] = PLAIN.exec(Buffer.from(cursor, "base64url").toString("utf8")) ?? [];
  const ms = Number.parseInt(time, 36);
  const position = { created_at: new Date(ms), _id };
  const genuine = _id !== "" && _id.length <= LONGEST_ID && ms <= LAST_MS && encodeCursor(position) === cursor;
  return genuine
    ? position
    : fail(
        "VALIDATION_FAILED",
        "The cursor is not one this service gave out; ask for the first page without a cursor.",
        { errors: [{ path: "cursor", message: "is not a cursor of this list" }] },
      );
}

const pageAfter = ({ created_at, _id }: Position): PageFilter => ({
  created_at: { $lte: created_at },
  $or: [{ created_at: { $lt: created_at } }, { _id: { $lt: _id } }],
});

/** Filter for the page after `cursor`; empty for the first page. Combine it with the list's own filters by `$and`. */
export const pageFilter = (cursor: string | undefined): PageFilter =>
  cursor === undefined ? {} : pageAfter(decodeCursor(cursor));

/** Filter for what was created from an instant on (inclusive), to another (exclusive). */
export const createdBetween = (from: string | undefined, to: string | undefined) =>
  from === undefined && to === undefined
    ? {}
    : {
        created_at: {
          ...(from === undefined ? {} : { $gte: new Date(from) }),
          ...(to === undefined ? {} : { $lt: new Date(to) }),
        },
      };

/** A page of a list as it is shown, and the cursor of the next one (null: this was the last). */
export interface Page<Shown> {
  items: Shown[];
  next_cursor: string | null;
}

/** Most documents of a page's first read; the size of the second one goes by what those take. */
const FIRST_READ = DEFAULT_PAGE + 1;
/** The comma between two items. */
const SEPARATOR_BYTES = 1;

/** How many more documents to read for a page: as many as are wanted, or as seem to fit into the rest of the message beside one more, which shows that there is a next page. */
function nextRead(wanted: number, read: number, bytes: number): number {
  if (bytes > MAX_MESSAGE_BYTES) return 0;
  return Math.min(wanted - read, Math.ceil((MAX_MESSAGE_BYTES - bytes) / (bytes / read)) + 1);
}

/**
 * Reads a page: it ends after `limit` items, or where a message on the bus is full of what is shown (shared/batching.ts), with one item at least. The
 * next page goes on exactly there. `read` gives `size` documents, or fewer where the list ends, and is asked for no more than a message or so. What
 * `show` gives nothing for is passed over.
 */
export async function readPage<Doc extends Position, Shown>(
  { limit = DEFAULT_PAGE, cursor }: { limit?: number | undefined; cursor?: string | undefined },
  read: (after: PageFilter, size: number) => PromiseLike<readonly Doc[]>,
  show: (doc: Doc) => Shown | undefined,
): Promise<Page<Shown>> {
  const found: { doc: Doc; shown: Shown | undefined; bytes: number }[] = [];
  let bytes = 0;
  let after = pageFilter(cursor);
  for (let size = Math.min(limit + 1, FIRST_READ); size > 0; size = nextRead(limit + 1, found.length, bytes)) {
    const part = await read(after, size);
    for (const doc of part) {
      const shown = show(doc);
      const item = { doc, shown, bytes: jsonBytes(shown) + SEPARATOR_BYTES };
      found.push(item);
      bytes += item.bytes;
    }
    const last = part.at(-1);
    if (part.length < size || last === undefined) break;
    after = pageAfter(last);
  }
  const fit = fitting(found.slice(0, limit), (item) => item.bytes);
  const last = fit.at(-1)?.doc;
  return {
    items: fit.flatMap(({ shown }) => (shown === undefined ? [] : [shown])),
    next_cursor: found.length > fit.length && last ? encodeCursor(last) : null,
  };
}

/** The newest documents that fit all filters. */
export const newestOf = <Doc>(model: Model<Doc>, filters: readonly QueryFilter<Doc>[], size: number): Promise<Doc[]> =>
  model
    .find({ $and: [...filters] })
    .sort(PAGE_ORDER)
    .limit(size)
    .lean<Doc[]>()
    .exec();
