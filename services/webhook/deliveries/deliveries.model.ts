import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import { whenPresent, whenText } from "../../../shared/database/partial-indexes.ts";
import type { DeliveryState } from "../../../shared/contracts/webhooks/delivery.ts";
import type { DeliveryRecord, ListedDelivery } from "../../../shared/contracts/webhook.ts";

/** What a delivery to an endpoint has beside those of reports. */
export interface EndpointPart {
  id: string;
  event_id: string;
  type: string;
  seq: number;
  /** Names the endpoint and the lead, whose events go out one after the other; null: an event of no lead. */
  chain: string | null;
  /** Ids of events of the chain before it that were given up, as its body names them. */
  lost: string[];
  /** It waits for its endpoint, which is paused. */
  held?: true;
  /** It was sent again, beside the order of its chain. */
  replayed?: true;
}

/**
 * A webhook event on its way. `_id` is the webhook-id, stable over all tries; `body` the exact bytes, written once. `next_try_at` is absent once
 * it is over.
 */
export interface DeliveryDoc {
  _id: string;
  lead_id: string;
  reseller_id: string;
  merchant_id: string | null;
  url: string;
  host: string;
  body: string;
  state: DeliveryState;
  try_count: number;
  next_try_at?: Date;
  /** When its plan has the next try. It may be due sooner, to probe a host that is down, or was; a failure of that is no try of the plan. Absent until a try failed. */
  planned_at?: Date;
  /** Not before then, by the receiver's own Retry-After. Absent: it gave none. */
  asked_until?: Date;
  /** Who took it last: names one taking of several deliveries. */
  taken_by?: string;
  /** Tries that do not count in the plan: those of the rounds before this one, and failed probes. Absent: none. */
  tries_before?: number;
  tries: { at: Date; status: number | null; error: string | null; duration_ms: number }[];
  created_at: Date;
  /** The traceparent of its lead's first span; absent: it is not traced. */
  trace?: string;
  /** Absent: the report of a lead. */
  endpoint?: EndpointPart;
  /** When it is no longer listed; absent: it stays. */
  expires_at?: Date;
}

const tries = { type: [{ _id: false, at: Date, status: Number, error: String, duration_ms: Number }], default: [] };

/** Collection `deliveries`; owner: the webhook service. */
export const deliverySchema = new Schema<DeliveryDoc>(
  {
    _id: { type: String, required: true },
    lead_id: { type: String, required: true },
    reseller_id: { type: String, required: true },
    merchant_id: { type: String, default: null },
    url: { type: String, required: true },
    host: { type: String },
    body: { type: String, required: true },
    state: { type: String, required: true },
    try_count: { type: Number, required: true },
    next_try_at: Date,
    planned_at: Date,
    asked_until: Date,
    taken_by: String,
    tries_before: Number,
    tries,
    created_at: { type: Date, required: true },
    trace: String,
  },
  SCHEMA_OPTIONS,
);
const NEWEST = { created_at: -1, _id: -1 } as const;
// By receiver first: what one has due costs nothing to reads of another's. In its place 0.2.0 read by `due_by_host`, which 0.4.0 drops.
deliverySchema.index(
  { host: 1, reseller_id: 1, merchant_id: 1, next_try_at: 1 },
  { name: "due_by_receiver", ...whenPresent("next_try_at") },
);
deliverySchema.index({ lead_id: 1, created_at: 1 }, { name: "by_lead" });
deliverySchema.index({ state: 1, ...NEWEST }, { name: "by_state" });
deliverySchema.index({ reseller_id: 1, state: 1, ...NEWEST }, { name: "by_reseller" });
deliverySchema.index({ merchant_id: 1, state: 1, ...NEWEST }, { name: "by_merchant" });

const endpointPartSchema = new Schema<EndpointPart>(
  {
    id: { type: String, required: true },
    event_id: { type: String, required: true },
    type: { type: String, required: true },
    seq: { type: Number, required: true },
    chain: { type: String, default: null },
    lost: { type: [String], default: [] },
    held: Boolean,
    replayed: Boolean,
  },
  { _id: false, id: false, strict: "throw" },
);

/** Collection `endpoint_deliveries`; owner: the webhook service. Apart from the reports: an older version would send what it finds there without order, and with another secret. */
export const endpointDeliverySchema = new Schema<DeliveryDoc>(
  {
    _id: { type: String, required: true },
    lead_id: { type: String, default: "" },
    reseller_id: { type: String, required: true },
    merchant_id: { type: String, default: null },
    url: { type: String, required: true },
    host: { type: String },
    body: { type: String, required: true },
    state: { type: String, required: true },
    try_count: { type: Number, required: true },
    next_try_at: Date,
    planned_at: Date,
    asked_until: Date,
    taken_by: String,
    tries_before: Number,
    tries,
    created_at: { type: Date, required: true },
    endpoint: endpointPartSchema,
    expires_at: Date,
  },
  SCHEMA_OPTIONS,
);
endpointDeliverySchema.index(
  { host: 1, reseller_id: 1, merchant_id: 1, next_try_at: 1 },
  { name: "due_by_receiver", ...whenPresent("next_try_at") },
);
endpointDeliverySchema.index({ "endpoint.chain": 1, "endpoint.seq": 1 }, { name: "by_chain" });
endpointDeliverySchema.index({ "endpoint.id": 1, state: 1, ...NEWEST }, { name: "by_endpoint" });
endpointDeliverySchema.index({ lead_id: 1 }, { name: "by_lead", ...whenText("lead_id") });
endpointDeliverySchema.index({ expires_at: 1 }, { name: "expired", expireAfterSeconds: 0 });

/** A delivery without the bytes it carries. */
export type BodilessDelivery = Omit<DeliveryDoc, "body">;

/** Document -> what a lead's list shows. */
export const toDelivery = (d: BodilessDelivery, host_paused_until: Date | null): DeliveryRecord => ({
  id: d._id,
  lead_id: d.lead_id,
  url: d.url,
  state: d.state,
  next_try_at: d.next_try_at?.toISOString() ?? null,
  ...(d.state === "pending" && host_paused_until ? { host_paused_until: host_paused_until.toISOString() } : {}),
  tries: d.tries.map((t) => ({ ...t, at: new Date(t.at).toISOString() })),
  created_at: d.created_at.toISOString(),
});

/** Document -> what the list of all shows. */
export const toListed = (d: BodilessDelivery, host_paused_until: Date | null): ListedDelivery => ({
  ...toDelivery(d, host_paused_until),
  reseller_id: d.reseller_id,
  merchant_id: d.merchant_id,
});
