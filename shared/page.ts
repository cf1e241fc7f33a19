import type { Model, QueryFilter } from "mongoose";
import { fitting } from "./batching.ts";
import { DEFAULT_PAGE } from "./contracts/records/identity.ts";
import { fail } from "./errors.ts";

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

/** Filter for the page after `cursor`; empty for the first page. Combine it with the list's own filters by `$and`. */
export function pageFilter(cursor: string | undefined): PageFilter {
  if (cursor === undefined) return {};
  const { created_at, _id } = decodeCursor(cursor);
  return { created_at: { $lte: created_at }, $or: [{ created_at: { $lt: created_at } }, { _id: { $lt: _id } }] };
}

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

/** How many documents to read for a page: one more than is shown, to detect a next page. */
export const pageSize = (limit: number | undefined): number => (limit ?? DEFAULT_PAGE) + 1;

/** Cuts what was read with `pageSize` down to the page, with the cursor of the next one (null: this was the last). With `bytesOf` a page also ends where a message on the bus is full. */
export function pageOf<Doc extends Position>(
  read: readonly Doc[],
  limit: number | undefined,
  bytesOf?: (item: Doc) => number,
): { items: Doc[]; next_cursor: string | null } {
  const most = read.slice(0, limit ?? DEFAULT_PAGE);
  const items = bytesOf === undefined ? most : fitting(most, bytesOf);
  const last = items.at(-1);
  return { items, next_cursor: read.length > items.length && last ? encodeCursor(last) : null };
}

/** Reads a page as it was asked for, and the cursor of the next one. */
export const readPage = async <Doc extends Position>(
  { limit, cursor }: { limit?: number | undefined; cursor?: string | undefined },
  read: (after: PageFilter, size: number) => PromiseLike<readonly Doc[]>,
  bytesOf?: (item: Doc) => number,
): Promise<{ items: Doc[]; next_cursor: string | null }> =>
  pageOf(await read(pageFilter(cursor), pageSize(limit)), limit, bytesOf);

/** The newest documents that fit all filters. */
export const newestOf = <Doc>(model: Model<Doc>, filters: readonly QueryFilter<Doc>[], size: number): Promise<Doc[]> =>
  model
    .find({ $and: [...filters] })
    .sort(PAGE_ORDER)
    .limit(size)
    .lean<Doc[]>()
    .exec();
