import type { ResultOf } from "../../../shared/bus/bus.ts";
import type { CallHistory, CarrierEventHistory } from "../../../shared/contracts/dialer.ts";
import { newestFitting } from "../../../shared/batching.ts";
import type { DialerParts } from "../deps.ts";
import { callHangupSource } from "./call-facts.ts";
import type { CallDoc } from "./calls.model.ts";
import type { CarrierEventDoc } from "../callbacks/carrier-events.model.ts";

/** Newest calls and callbacks of one lead that are shown. */
const MAX_CALLS = 100;
const MAX_EVENTS = 500;
/** Most bytes of them as JSON; the newest are shown. */
const CALLS_BYTES = 150_000;
const EVENTS_BYTES = 250_000;

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
  ...(c.ended === undefined || c.ended === "not_dialled" ? {} : { hangup_source: callHangupSource(c, null) }),
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

/** The recorded history of a lead's calls, oldest first. */
export async function callHistory(
  { calls, callbacks }: DialerParts,
  lead_id: string,
): Promise<ResultOf<"dialer.history">> {
  const found = await calls.newestOfLead(lead_id, MAX_CALLS);
  const received =
    found.length === 0
      ? []
      : await callbacks.newestOf(
          found.map((call) => call._id),
          MAX_EVENTS,
        );
  const shown = newestFitting(found.reverse().map(toCallHistory), CALLS_BYTES);
  return { calls: shown, carrier_events: newestFitting(received.reverse().map(toEventHistory), EVENTS_BYTES) };
}
