import { Schema } from "mongoose";
import type { Provider } from "../../../shared/contracts/records/configuration.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import type { CallbackKind, CallProgress, CarrierRecording, Price } from "../carriers/carrier-port.ts";

/** A carrier's callback: stored first, then applied. `_id` identifies repeats: provider, call, kind, and sequence or hash of the body. */
export interface CarrierEventDoc {
  _id: string;
  provider: Provider;
  kind: CallbackKind;
  /** The call_ref in the signed address. */
  ref: string;
  carrier_call_id: string;
  carrier_leg_id?: string;
  progress: CallProgress[];
  /** What the callback reported of a recording, and of the price. */
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
const KEPT_SECONDS = 7 * 24 * 3600;

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
