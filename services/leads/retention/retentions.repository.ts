import type { Model } from "mongoose";
import { takeLongestDue } from "../../../shared/database/take-due.ts";
import type { RetentionDoc } from "./retentions.model.ts";

/** Reads and guarded writes of the collection `retentions`. */
export interface Retentions {
  find(reseller_id: string): Promise<RetentionDoc | null>;
  /** Sets the periods of a reseller. A run under way is over with that: the next one begins at the oldest lead. A fold that is not done yet is due at once. */
  set(retention: Omit<RetentionDoc, "turn" | "done_to" | "run" | "fold" | "folds" | "archived">): Promise<RetentionDoc>;
  /** Whether anything of this reseller, or of any (null), may be in the archive. */
  mayHaveArchived(reseller_id: string | null): Promise<boolean>;
  /** Takes the retention that has been due for longest, until then; null: none is due. */
  takeDue(now: Date, until: Date): Promise<RetentionDoc | null>;
  /** Nothing is set any more; when it was set anew meanwhile, nothing happens. */
  rest(taken: RetentionDoc): Promise<void>;
  /** Writes how far its run and its fold are, and when it goes on; false: another process has it, or it was set anew. */
  progress(taken: RetentionDoc, due_at: Date): Promise<boolean>;
}

/** The repository over its model. */
export const retentionsRepository = (model: Model<RetentionDoc>): Retentions => ({
  find: (reseller_id) => model.findById(reseller_id).lean<RetentionDoc>(),
  async set({ _id, due_at, ...fields }) {
    const set = {
      ...fields,
      done_to: {},
      ...(fields.archive ? { archived: true as const } : {}),
      ...(due_at === undefined ? {} : { due_at }),
    };
    const stored = await model
      .findOneAndUpdate(
        { _id },
        { $set: set, $unset: { run: 1, ...(due_at === undefined ? { due_at: 1 } : {}) }, $inc: { turn: 1 } },
        { upsert: true, returnDocument: "after" },
      )
      .lean<RetentionDoc>();
    if (stored?.fold && due_at === undefined) {
      await model.updateOne({ _id, turn: stored.turn }, { $set: { due_at: fields.updated_at } });
      return { ...stored, due_at: fields.updated_at };
    }
    return stored ?? { _id, ...fields, turn: 1, done_to: {}, ...(due_at === undefined ? {} : { due_at }) };
  },
  mayHaveArchived: async (reseller_id) =>
    (await model.exists({ archived: true, ...(reseller_id === null ? {} : { _id: reseller_id }) })) !== null,
  takeDue: (now, until) => takeLongestDue(model, now, until, { $inc: { turn: 1 } }),
  async rest({ _id, turn }) {
    await model.updateOne({ _id, turn }, { $set: { fold: null }, $unset: { due_at: 1 } });
  },
  async progress({ _id, turn, run, done_to, fold = null, folds = 0 }, due_at) {
    const { matchedCount } = await model.updateOne({ _id, turn }, { $set: { run, done_to, due_at, fold, folds } });
    return matchedCount === 1;
  },
});
