import { Schema, type Model } from "mongoose";
import type { Provider } from "../../../shared/contracts/configuration.ts";
import { fail } from "../../../shared/errors.ts";
import { joining } from "../../../shared/joining.ts";
import { SCHEMA_OPTIONS } from "../../../shared/mongo.ts";
import { insertEach } from "../../../shared/unordered-insert.ts";
import type { CallbackKind, CallProgress, CarrierRecording, Price } from "../carriers/carrier-port.ts";

/** A carrier's callback as it is kept: stored first, then applied. `_id` tells repeats: provider, call, kind, and sequence or hash of the body. */
export interface CarrierEventDoc {
  _id: string;
  provider: Provider;
  kind: CallbackKind;
  /** The call_ref in the signed address. */
  ref: string;
  carrier_call_id: string;
  carrier_leg_id?: string;
  progress: CallProgress[];
  /** What the callback told of a recording, and of the price. */
  recording?: CarrierRecording;
  cost?: Price;
  /** The body as received, for disputes with the carrier. */
  body: string;
  received_at: Date;
  applied: boolean;
  /** Why it changed nothing, where that is odd. */
  note?: string;
}

/** Callbacks are kept for a week, those of unknown calls too. */
export const KEPT_SECONDS = 7 * 24 * 3600;

const Free = Schema.Types.Mixed;

/** Collection `carrier_events`; owner: the dialer. */
export const carrierEventSchema = new Schema<CarrierEventDoc>(
  {
    _id: { type: String, required: true },
    provider: { type: String, required: true },
    kind: { type: String, required: true },
    ref: { type: String, required: true },
    carrier_call_id: { type: String, required: true },
    carrier_leg_id: String,
    progress: { type: Free, required: true },
    recording: Free,
    cost: Free,
    body: { type: String, default: "" },
    received_at: { type: Date, required: true },
    applied: { type: Boolean, required: true },
    note: String,
  },
  SCHEMA_OPTIONS,
);

carrierEventSchema.index({ received_at: 1 }, { name: "kept", expireAfterSeconds: KEPT_SECONDS });
carrierEventSchema.index(
  { applied: 1, received_at: 1 },
  { name: "unapplied", partialFilterExpression: { applied: false } },
);
carrierEventSchema.index({ ref: 1, received_at: 1 }, { name: "by_ref" });

/** Reads and writes of `carrier_events`. */
export interface CarrierEvents {
  /** False: it is a repeat. */
  store(event: CarrierEventDoc): Promise<boolean>;
  /** Events received before `before` that were not applied, oldest first. */
  unapplied(before: Date, limit: number): Promise<CarrierEventDoc[]>;
  applied(id: string, note: string | null): Promise<void>;
}

/** Most time the database may take over one of these, in milliseconds. */
const MAX_TIME_MS = 8000;

/** Callbacks of one moment that share a round trip. */
const EVENTS_AT_ONCE = 200;

/** The repository on its model. */
export function createCarrierEvents(model: Model<CarrierEventDoc>): CarrierEvents {
  const storeJoined = joining((events: CarrierEventDoc[]) => insertEach(model, events), EVENTS_AT_ONCE);
  const markApplied = async (ids: string[], note: string | null): Promise<void> => {
    await model
      .updateMany(
        { _id: { $in: ids }, applied: false },
        { $set: { applied: true, ...(note === null ? {} : { note }) } },
        { maxTimeMS: MAX_TIME_MS },
      )
      .exec();
  };
  const appliedInOne = joining(async (ids: string[]) => {
    await markApplied(ids, null);
    return ids;
  }, EVENTS_AT_ONCE);
  const appliedJoined = async (id: string): Promise<void> => {
    await appliedInOne(id);
  };
  return {
    async store(event) {
      const written = await storeJoined(event);
      return written === "failed"
        ? fail("STORE_UNAVAILABLE", "A carrier's callback was refused by the database; the carrier will send it again.")
        : written === "written";
    },
    unapplied: (before, limit) =>
      model
        .find({ applied: false, received_at: { $lte: before } })
        .sort({ received_at: 1 })
        .limit(limit)
        .maxTimeMS(MAX_TIME_MS)
        .lean<CarrierEventDoc[]>()
        .exec(),
    applied: (id, note) => (note === null ? appliedJoined(id) : markApplied([id], note)),
  };
}
