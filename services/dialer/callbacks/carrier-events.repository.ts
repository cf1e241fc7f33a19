import type { Model } from "mongoose";
import { batched } from "../../../shared/batching.ts";
import { fail } from "../../../shared/errors.ts";
import { insertEach } from "../../../shared/database/write-batches.ts";
import type { CarrierEventDoc } from "./carrier-events.model.ts";

/** Reads and writes of `carrier_events`. */
export interface CarrierEvents {
  /** Stores a callback; false: it is a repeat. */
  store(event: CarrierEventDoc): Promise<boolean>;
  /** Events received before `before` that were not applied, oldest first. */
  unapplied(before: Date, limit: number): Promise<CarrierEventDoc[]>;
  /** Callbacks to these calls without their bodies, newest first. */
  newestOf(refs: string[], limit: number): Promise<CarrierEventDoc[]>;
  /** Marks a callback as applied; `note`: why it changed nothing, where that is odd. */
  markApplied(id: string, note: string | null): Promise<void>;
  /** Empties the callbacks to these calls, which stay known so that one that comes again is a repeat; how many those were. */
  erase(refs: readonly string[]): Promise<number>;
}

/** Callbacks of one moment that share a round trip. */
const MAX_BATCH = 200;

/** The repository on its model. */
export function createCarrierEvents(model: Model<CarrierEventDoc>): CarrierEvents {
  const insert = batched((events: CarrierEventDoc[]) => insertEach(model, events), { maxItems: MAX_BATCH });
  const mark = async (ids: string[], note: string | null): Promise<string[]> => {
    await model.updateMany(
      { _id: { $in: ids }, applied: false },
      { $set: { applied: true, ...(note === null ? {} : { note }) } },
    );
    return ids;
  };
  const markPlain = batched((ids: string[]) => mark(ids, null), { maxItems: MAX_BATCH });
  return {
    async store(event) {
      const written = await insert(event);
      return written === "failed"
        ? fail("STORE_UNAVAILABLE", "A carrier's callback was refused by the database; the carrier will send it again.")
        : written === "written";
    },
    unapplied: (before, limit) =>
      model
        .find({ applied: false, received_at: { $lte: before } })
        .sort({ received_at: 1 })
        .limit(limit)
        .lean<CarrierEventDoc[]>(),
    newestOf: (refs, limit) =>
      model
        .find({ ref: { $in: refs } }, { body: 0 })
        .sort({ received_at: -1 })
        .limit(limit)
        .lean<CarrierEventDoc[]>(),
    async markApplied(id, note) {
      await (note === null ? markPlain(id) : mark([id], note));
    },
    async erase(refs) {
      if (refs.length === 0) return 0;
      const { modifiedCount } = await model.updateMany(
        { ref: { $in: [...refs] }, body: { $ne: "" } },
        { $set: { body: "", progress: [] }, $unset: { recording: 1, note: 1 } },
      );
      return modifiedCount;
    },
  };
}
