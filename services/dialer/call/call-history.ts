import type { Model } from "mongoose";
import type { ResultOf } from "../../../shared/bus.ts";
import type { CallHistory, CarrierEventHistory } from "../../../shared/contracts/dialer.ts";
import type { CallDoc } from "./calls.model.ts";
import type { CarrierEventDoc } from "./carrier-events.model.ts";

/** Newest calls and callbacks of one lead that are shown. */
const MAX_CALLS = 100;
const MAX_EVENTS = 500;
/** Most time the database may take over one of the reads, in milliseconds. */
const MAX_TIME_MS = 8000;

const iso = (date: Date | undefined): string | null => date?.toISOString() ?? null;

/** Document -> what is shown of a call; no phone numbers. */
export const toCallHistory = (c: CallDoc): CallHistory => ({
  ...(c.direction === undefined ? {} : { direction: c.direction }),
  call_ref: c._id,
  claim_no: c.claim_no,
  state: c.state,
  provider: c.provider ?? null,
  call_id: c.carrier_call_id ?? null,
  intended_at: c.created_at.toISOString(),
  placed_at: iso(c.placed_at),
  ringing_at: iso(c.ringing_at),
  answered_at: iso(c.answered_at),
  joined_at: iso(c.joined_at),
  ended_at: iso(c.ended_at),
  closed_at: iso(c.closed_at),
  ended: c.ended ?? null,
  cause: c.cause ?? null,
  machine: c.machine ?? null,
  hang_up: c.hang_up ?? null,
  talk_seconds: c.talk_seconds ?? null,
  cost: c.cost ?? null,
  cost_currency: c.cost_currency ?? null,
});

/** Document -> what is shown of a callback; its body stays here. */
export const toEventHistory = (e: CarrierEventDoc): CarrierEventHistory => ({
  call_ref: e.ref,
  kind: e.kind,
  received_at: e.received_at.toISOString(),
  applied: e.applied,
  note: e.note ?? null,
  steps: e.progress.map((step) => ({ type: step.type, at: step.at })),
});

/** What is recorded of a lead's calls, oldest first. */
export async function callHistory(
  calls: Model<CallDoc>,
  events: Model<CarrierEventDoc>,
  lead_id: string,
): Promise<ResultOf<"dialer.history">> {
  const found = await calls
    .find({ lead_id }, { order: 0 })
    .sort({ claim_no: -1 })
    .limit(MAX_CALLS)
    .maxTimeMS(MAX_TIME_MS)
    .lean<CallDoc[]>()
    .exec();
  const refs = found.map((c) => c._id);
  const told =
    refs.length === 0
      ? []
      : await events
          .find({ ref: { $in: refs } }, { body: 0 })
          .sort({ received_at: -1 })
          .limit(MAX_EVENTS)
          .maxTimeMS(MAX_TIME_MS)
          .lean<CarrierEventDoc[]>()
          .exec();
  return { calls: found.reverse().map(toCallHistory), carrier_events: told.reverse().map(toEventHistory) };
}
