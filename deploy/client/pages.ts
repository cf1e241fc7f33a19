import type { Client } from "./client.ts";
import type { AnswerOf, Given, PathsWith } from "./shapes.ts";

/** Lists that go on by a cursor: paths whose answer has `next_cursor` beside one list. */
export type ListPath = {
  [P in PathsWith<"GET">]: AnswerOf<"GET", P> extends { next_cursor: string | null } ? P : never;
}[PathsWith<"GET">];

/** What a list is of. */
export type ItemOf<P extends ListPath> = {
  [K in keyof AnswerOf<"GET", P>]: AnswerOf<"GET", P>[K] extends readonly (infer I)[] ? I : never;
}[keyof AnswerOf<"GET", P>];

/** The query of a list, which may be left out. */
export type QueryOf<P extends ListPath> = Given<"GET", P> extends { query?: infer Q } ? NonNullable<Q> : never;

/** Items of a page that is asked for. */
const PAGE = 200;

/**
 * Every item of a list, page by page as they are read: `for await (const lead of each(client, "/leads", { status: "RETRY" }))`.
 * A page is asked for when the one before it has been read. ApiFailure, NoAnswer.
 */
export async function* each<P extends ListPath>(
  client: Client,
  path: P,
  query?: QueryOf<P>,
): AsyncGenerator<ItemOf<P>> {
  const ask = client.ask as (method: "GET", path: P, given: object) => Promise<{ next_cursor: string | null }>;
  let cursor: string | null = null;
  do {
    const given = { query: Object.assign({ limit: PAGE }, query, cursor === null ? {} : { cursor }) };
    const page: { next_cursor: string | null } = await ask("GET", path, given);
    for (const value of Object.values(page)) if (Array.isArray(value)) yield* value as ItemOf<P>[];
    cursor = page.next_cursor;
  } while (cursor !== null);
}
