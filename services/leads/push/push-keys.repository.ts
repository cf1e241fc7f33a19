import type { Model } from "mongoose";
import { fail } from "../../../shared/errors.ts";
import { batched } from "../../../shared/batching.ts";
import { insertNew } from "../../../shared/database/write-batches.ts";
import type { PushKeyDoc } from "./push-keys.model.ts";

/** What Idempotency-Keys stand for. */
export interface PushKeys {
  /** Those of the ids that stand for something now. */
  find(ids: readonly string[], now: Date): Promise<Map<string, PushKeyDoc>>;
  /** Takes keys; returns for each the push it stands for: this one, or the earlier one that took it. */
  reserve(wanted: readonly PushKeyDoc[], now: Date): Promise<Map<string, PushKeyDoc>>;
}

/** Keys of pushes of the same moment that are looked up, or taken, in one go. */
const PER_BATCH = 100;

/** The repository over its model. */
export function pushKeysRepository(model: Model<PushKeyDoc>): PushKeys {
  const read = async (ids: readonly string[]): Promise<Map<string, PushKeyDoc>> =>
    new Map((await model.find({ _id: { $in: [...ids] } }).lean<PushKeyDoc[]>()).map((d) => [d._id, d]));

  /** Writes the keys that are free; true for each that was. */
  const take = (wanted: readonly PushKeyDoc[]): Promise<boolean[]> => insertNew(model, wanted);
  const readOne = batched(
    async (ids: string[]) => {
      const found = await read(ids);
      return ids.map((id) => found.get(id) ?? null);
    },
    { maxItems: PER_BATCH },
  );
  const takeOne = batched(take, { maxItems: PER_BATCH });

  /** The pushes of keys that are taken already, unless they have expired. */
  const others = async (wanted: readonly PushKeyDoc[], now: Date): Promise<Map<string, PushKeyDoc>> => {
    if (wanted.length === 0) return new Map();
    const held = await read(wanted.map((w) => w._id));
    // the database deletes expired keys once a minute; until then they block an insert
    const over = wanted.flatMap((fresh) => {
      const old = held.get(fresh._id);
      return old && old.expires_at <= now ? [{ old, fresh }] : [];
    });
    if (over.length === 0) return held;
    await Promise.all(
      over.map(({ old, fresh }) => model.replaceOne({ _id: old._id, expires_at: old.expires_at }, fresh)),
    );
    return read(wanted.map((w) => w._id));
  };

  return {
    async find(ids, now) {
      const found =
        ids.length === 1 ? await Promise.all(ids.map((id) => readOne(id))) : [...(await read(ids)).values()];
      return new Map(found.flatMap((d) => (d && d.expires_at > now ? [[d._id, d]] : [])));
    },
    async reserve(wanted, now) {
      const mine = wanted.length === 1 ? await Promise.all(wanted.map((w) => takeOne(w))) : await take(wanted);
      const held = await others(
        wanted.filter((_, i) => !mine[i]),
        now,
      );
      wanted.forEach((w, i) => {
        if (mine[i]) held.set(w._id, w);
      });
      if (wanted.some((w) => !held.has(w._id)))
        fail("STORE_UNAVAILABLE", "an Idempotency-Key or a request_id was taken and yet can't be read; push again");
      return held;
    },
  };
}
