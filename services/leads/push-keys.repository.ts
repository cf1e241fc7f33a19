import mongoose, { type Model } from "mongoose";
import { fail, isDuplicateKey } from "../../shared/errors.ts";
import type { PushKeyDoc } from "./push-keys.model.ts";

/** What Idempotency-Keys stand for. */
export interface PushKeys {
  /** Those of the ids that stand for something now. */
  find(ids: readonly string[], now: Date): Promise<Map<string, PushKeyDoc>>;
  /** Takes keys; for each what it stands for afterwards: these, or what others took it for before. */
  reserve(wanted: readonly PushKeyDoc[], now: Date): Promise<Map<string, PushKeyDoc>>;
}

const MAX_QUERY_MS = 8000;
const DUPLICATE_KEY = 11_000;

const onlyDuplicates = (error: unknown): void => {
  if (isDuplicateKey(error) && !(error instanceof mongoose.mongo.MongoBulkWriteError)) return;
  if (!(error instanceof mongoose.mongo.MongoBulkWriteError) || error.result.getWriteConcernError()) throw error;
  if ([error.writeErrors].flat().some((fault) => fault.code !== DUPLICATE_KEY)) throw error;
};

/** The repository over its model. */
export function pushKeysRepository(model: Model<PushKeyDoc>): PushKeys {
  const read = (ids: readonly string[]) => model.find({ _id: { $in: [...ids] } }).maxTimeMS(MAX_QUERY_MS).lean<PushKeyDoc[]>();
  const byId = (docs: readonly PushKeyDoc[]): Map<string, PushKeyDoc> => new Map(docs.map((d) => [d._id, d]));
  return {
    async find(ids, now) {
      return byId((await read(ids)).filter((d) => d.expires_at > now));
    },
    async reserve(wanted, now) {
      await model.insertMany(wanted, { ordered: false, lean: true, rawResult: true }).then(() => undefined, onlyDuplicates);
      // the database clears expired keys once a minute; until then they are in the way
      const over = (await read(wanted.map((w) => w._id))).filter((d) => d.expires_at <= now);
      for (const old of over) {
        const fresh = wanted.find((w) => w._id === old._id);
        if (fresh) await model.replaceOne({ _id: old._id, expires_at: old.expires_at }, fresh);
      }
      const held = byId(await read(wanted.map((w) => w._id)));
      if (wanted.some((w) => !held.has(w._id))) fail("STORE_UNAVAILABLE", "an Idempotency-Key was taken and yet can't be read; push again");
      return held;
    },
  };
}
