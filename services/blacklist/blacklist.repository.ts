import type { Model } from "mongoose";
import { within, type Scope } from "../../shared/contracts/records/identity.ts";
import { newestOf, type PageFilter } from "../../shared/page.ts";
import type { EntryDoc } from "./blacklist.model.ts";
import { batched } from "../../shared/batching.ts";
import { insertNew } from "../../shared/database/write-batches.ts";
import { entryId, type List } from "./blacklist-entries.ts";

/** Reads and writes of the collection `blacklist`. */
export interface BlacklistRepository {
  /** Writes the entries that are not there yet; how many that were, exactly, also when others list the same numbers meanwhile. */
  add(entries: EntryDoc[]): Promise<number>;
  /** Entries that apply to the scope (its own and the global ones; of a merchant, what callees asked of it and of its reseller), newest first. `spellings`: only those of one phone, in E.164 and by their hashes; undefined: all but erased numbers. */
  page(scope: Scope, spellings: readonly string[] | undefined, after: PageFilter, size: number): Promise<EntryDoc[]>;
  /** Removes these numbers, and their hashes, from one list, a reseller's with what callees asked of it and its merchants; returns how many entries that were. */
  remove(list: List, phone_numbers: readonly string[], hashes: readonly string[]): Promise<number>;
  /** Removes every entry of a scope with this number itself, in these spellings; how many. */
  forget(scope: Scope, spellings: readonly string[]): Promise<number>;
  /** Those of the ids that exist; the set may contain others too. */
  existing(ids: string[]): Promise<Set<string>>;
}

const newestFirst = (a: EntryDoc, b: EntryDoc): number =>
  b.created_at.getTime() - a.created_at.getTime() || (a._id < b._id ? 1 : -1);

/** What a list shows whose reader names no number: an erased one can't be read. */
const PLAIN = { source: { $ne: "erasure" as const } };

/** Ids of a question that shares a read with others of the same moment; larger ones are read alone. */
const BATCHED_IDS = 10;
const QUESTIONS_PER_BATCH = 100;

/** Those of the ids that exist, read by id alone. */
async function existing(model: Model<EntryDoc>, ids: string[]): Promise<Set<string>> {
  const found = await model.find({ _id: { $in: ids } }, { _id: 1 }).lean<{ _id: string }[]>();
  return new Set(found.map((d) => d._id));
}

/** The repository over a mongoose model. */
export const blacklistRepository = (model: Model<EntryDoc>): BlacklistRepository =>
  withBatches(
    model,
    batched(
      async (questions: string[][]) => {
        const known = await existing(model, [...new Set(questions.flat())]);
        return questions.map(() => known);
      },
      { maxItems: QUESTIONS_PER_BATCH },
    ),
  );

const withBatches = (model: Model<EntryDoc>, ask: (ids: string[]) => Promise<Set<string>>): BlacklistRepository => ({
  async add(entries) {
    if (entries.length === 0) return 0;
    return (await insertNew(model, entries)).filter(Boolean).length;
  },
  async page(scope, spellings, after, size) {
    // one query for each list that applies to the scope: an index gives either in order, but not both together
    const { reseller_id, merchant_id } = scope;
    const own =
      merchant_id === null ? [{ reseller_id }] : [null, merchant_id].map((of) => ({ reseller_id, merchant_id: of }));
    const lists = reseller_id === null ? [{}] : [...own, { reseller_id: null }];
    const pages = await Promise.all(
      lists.map((list) =>
        newestOf(
          model,
          [list, spellings === undefined ? PLAIN : { phone_number: { $in: [...spellings] } }, after],
          size,
        ),
      ),
    );
    return pages.flat().sort(newestFirst).slice(0, size);
  },
  async remove(list, phone_numbers, hashes) {
    const { reseller_id } = list;
    const { deletedCount } = await model.deleteMany({
      _id: { $in: phone_numbers.map((e164) => entryId(reseller_id, e164)) },
    });
    const erased = await model.deleteMany({ phone_number: { $in: [...hashes] }, reseller_id, source: "erasure" });
    const listed = deletedCount + erased.deletedCount;
    if (reseller_id === null) return listed;
    const wishes = await model.deleteMany({ phone_number: { $in: [...phone_numbers] }, reseller_id, source: "callee" });
    return listed + wishes.deletedCount;
  },
  forget: async (scope, spellings) =>
    (await model.deleteMany({ ...within(scope), phone_number: { $in: [...spellings] } })).deletedCount,
  existing: (ids) => (ids.length <= BATCHED_IDS ? ask(ids) : existing(model, ids)),
});
