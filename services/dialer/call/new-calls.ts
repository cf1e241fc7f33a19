import { plusMs } from "../../../shared/time/clock.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { phoneOf } from "../../../shared/numbering/spellings.ts";
import { callRef } from "../../../shared/ids.ts";
import { dueAfterIntent, JOIN_GRACE_MS, openUntil } from "./call-deadlines.ts";
import { RANK } from "./call-state-machine.ts";
import type { CallDoc, MediaKind, StoredOrder } from "./calls.model.ts";

/** What is kept of an order: nothing that is not needed to know the call by, for payloads and secrets of pre-checks have their own place. */
const storedOrderOf = ({
  payload: _payload,
  pre_checks: _checks,
  pre_check_defers: _defers,
  rate_limit: _limit,
  ...order
}: DialJob): StoredOrder => order;

/** Whose call with which number: a merchant's, or a reseller's own. */
export const calleeKeyOf = ({
  reseller_id,
  merchant_id,
  to,
}: Pick<DialJob, "reseller_id" | "merchant_id" | "to">): string => `${merchant_id ?? reseller_id} ${to}`;

/** The same of the phone, whichever spelling of it is dialled. */
export const phoneKeyOf = (of: Parameters<typeof calleeKeyOf>[0]): string => calleeKeyOf({ ...of, to: phoneOf(of.to) });

/** True for the very record that was to be written: an insert that is repeated because its answer was lost finds its own work. */
export const isSame = (a: CallDoc, b: CallDoc): boolean =>
  a._id === b._id &&
  a.state === b.state &&
  a.tended_by === b.tended_by &&
  a.created_at.getTime() === b.created_at.getTime() &&
  a.carrier_call_id === b.carrier_call_id;

/** The intent record: written, and acknowledged by a majority, before the carrier is asked. */
export const intent = (
  order: DialJob,
  node: string,
  now: Date,
  deadline_at: Date,
  media: MediaKind = "text",
): CallDoc => ({
  _id: callRef(order.lead_id, order.claim_no),
  lead_id: order.lead_id,
  claim_no: order.claim_no,
  state: "DIALING",
  rank: RANK.DIALING,
  created_at: now,
  order: storedOrderOf(order),
  provider: order.provider,
  ...(order.dial_until === null ? {} : { dial_until: new Date(order.dial_until) }),
  media,
  deadline_at,
  callee: order.to,
  callee_key: phoneKeyOf(order),
  cap_key: calleeKeyOf(order),
  open_until: openUntil(deadline_at, order.max_call_seconds),
  tended_by: node,
  due_at: dueAfterIntent(deadline_at),
});

/**
 * An accepted inbound call: it rings at our number under the carrier's name for it, and this node renews its lead's lease. `alone`: no other call of
 * its tenant with the caller is under way.
 */
export const acceptInbound = (
  order: StoredOrder,
  call: { call_id: string; leg_id: string | null },
  node: string,
  now: Date,
  alone: boolean,
): CallDoc => ({
  _id: callRef(order.lead_id, order.claim_no),
  lead_id: order.lead_id,
  claim_no: order.claim_no,
  state: "RINGING",
  rank: RANK.RINGING,
  created_at: now,
  direction: "INBOUND",
  order,
  ...(order.provider === undefined ? {} : { provider: order.provider }),
  carrier_call_id: call.call_id,
  ...(call.leg_id === null ? {} : { carrier_leg_id: call.leg_id }),
  ringing_at: now,
  ...(order.to === ""
    ? {}
    : {
        callee: order.to,
        open_until: openUntil(now, order.max_call_seconds),
        ...(alone ? { callee_key: phoneKeyOf(order) } : {}),
      }),
  tended_by: node,
  due_at: plusMs(now, JOIN_GRACE_MS),
});

/** A session that waits for its client in a room of this name until `join_until`; this node renews its lead's lease. */
export const openedSession = (
  order: StoredOrder,
  room: string,
  node: string,
  now: Date,
  join_until: Date,
): CallDoc => ({
  _id: callRef(order.lead_id, order.claim_no),
  lead_id: order.lead_id,
  claim_no: order.claim_no,
  state: "RINGING",
  rank: RANK.RINGING,
  created_at: now,
  session: true,
  order,
  media: "audio",
  carrier_call_id: room,
  deadline_at: join_until,
  tended_by: node,
  due_at: join_until,
});

/** The tombstone: an intent record that comes later finds the place taken, and nothing is dialled. */
export const tombstone = (lead_id: string, claim_no: number, now: Date): CallDoc => ({
  _id: callRef(lead_id, claim_no),
  lead_id,
  claim_no,
  state: "VOID",
  rank: RANK.VOID,
  created_at: now,
});
