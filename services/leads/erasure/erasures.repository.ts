import type { Model } from "mongoose";
import { takeLongestDue } from "../../../shared/database/take-due.ts";
import type { ErasedCounts, ErasureRecord } from "../../../shared/contracts/requests/erasures.ts";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import { spellingsOf } from "../../../shared/numbering/spellings.ts";
import { newestOf, type PageFilter } from "../../../shared/page.ts";
import type { ErasureDoc } from "./erasures.model.ts";

/** An erasure that a process has taken: it knows the number. */
export type TakenErasure = ErasureDoc & Required<Pick<ErasureDoc, "phone_number">>;

/** What a list is narrowed by. */
interface ErasureFilter {
  state?: ErasureRecord["state"] | undefined;
  reseller_id?: string | undefined;
}

/** Reads and guarded writes of the collection `erasures`. */
export interface Erasures {
  /** Writes an erasure; the one that is under way for the same number and scope, where there is one. */
  open(erasure: TakenErasure): Promise<ErasureDoc>;
  /** Takes the erasure that has been due for longest, until then; null: none is due. */
  takeDue(now: Date, until: Date): Promise<TakenErasure | null>;
  /** Adds what was erased, and says how many leads wait and when it goes on; false: another process has it. */
  progress(taken: TakenErasure, erased: ErasedCounts, waiting: number, due_at: Date): Promise<boolean>;
  /** Says that a legal hold keeps it from going on, and when to look again. */
  hold(taken: TakenErasure, held_by: string, due_at: Date): Promise<void>;
  /** It is done, and forgets the number; false: another process has it. */
  finish(taken: TakenErasure, now: Date): Promise<boolean>;
  /** When the oldest was asked for that is not done: of those that a legal hold keeps, or of the others; null: there is none. */
  oldest(held: boolean): Promise<Date | null>;
  /** Those of these numbers of whose phones an erasure is under way, whatever its scope; others may be among them. */
  underWay(phone_numbers: readonly string[]): Promise<Set<string>>;
  find(scope: Scope, id: string): Promise<ErasureDoc | null>;
  page(scope: Scope, filter: ErasureFilter, after: PageFilter, size: number): Promise<ErasureDoc[]>;
}

/** The repository over its model. */
export function erasuresRepository(model: Model<ErasureDoc>): Erasures {
  const ours = ({ _id, turn }: TakenErasure) => ({ _id, turn, state: "running" as const });
  return {
    async open(erasure) {
      try {
        await model.create(erasure);
        return erasure;
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        const { phone_number, reseller_id, merchant_id } = erasure;
        const known = await model.findOne({ phone_number, reseller_id, merchant_id }).lean<ErasureDoc>();
        if (known === null) throw error;
        return known;
      }
    },
    takeDue: (now, until) => takeLongestDue<ErasureDoc, TakenErasure>(model, now, until, { $inc: { turn: 1 } }),
    async progress(taken, erased, waiting, due_at) {
      const more = Object.entries(erased).filter(([, count]) => count > 0);
      const { matchedCount } = await model.updateOne(ours(taken), {
        $set: { waiting, due_at, held_by: null },
        ...(more.length === 0 ? {} : { $inc: Object.fromEntries(more.map(([kind, n]) => [`erased.${kind}`, n])) }),
      });
      return matchedCount === 1;
    },
    async hold(taken, held_by, due_at) {
      await model.updateOne(ours(taken), { $set: { held_by, due_at } });
    },
    async finish(taken, now) {
      const { matchedCount } = await model.updateOne(ours(taken), {
        $set: { state: "done", finished_at: now, waiting: 0 },
        $unset: { phone_number: 1, due_at: 1 },
      });
      return matchedCount === 1;
    },
    async oldest(held) {
      const found = await model
        .findOne({ due_at: { $gt: new Date(0) }, held_by: held ? { $ne: null } : null }, { created_at: 1 })
        .sort({ created_at: 1 })
        .lean<Pick<ErasureDoc, "created_at">>();
      return found?.created_at ?? null;
    },
    underWay: async (phone_numbers) =>
      new Set(
        (await model.distinct("phone_number", { phone_number: { $in: phone_numbers.flatMap(spellingsOf) } })).flatMap(
          (found) => (found === undefined ? [] : spellingsOf(found)),
        ),
      ),
    find: (scope, _id) => model.findOne({ _id, ...within(scope) }).lean<ErasureDoc>(),
    page: (scope, { state, reseller_id }, after, size) =>
      newestOf(
        model,
        [within(scope), state === undefined ? {} : { state }, reseller_id === undefined ? {} : { reseller_id }, after],
        size,
      ),
  };
}
