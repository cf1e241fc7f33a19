import { plusMs } from "../../../shared/time/clock.ts";
import type { CarrierEnd } from "../../../shared/contracts/records/attempt.ts";
import type { VoicemailAction } from "../../../shared/contracts/records/configuration.ts";
import type { HangUpReason, MediaEnd } from "../../../shared/hangup-source.ts";
import type { CallDoc, CallState, MediaKind } from "./calls.model.ts";
import type { CallProgress } from "../carriers/carrier-port.ts";
import { hangUpDelayMs, JOIN_GRACE_MS, REPOLL_MS } from "./call-deadlines.ts";

/** One legal transition as a guarded write: whole, or not at all when the guard no longer holds. */
export interface Transition {
  filter: Record<string, unknown>;
  update: {
    $set?: Record<string, unknown>;
    $unset?: Record<string, 1>;
    $min?: Record<string, Date>;
    $inc?: Record<string, number>;
  };
}

/** Order of the states. */
export const RANK: Record<CallState, number> = { DIALING: 1, RINGING: 2, ANSWERED: 3, ENDED: 9, VOID: 9 };
const LIVE: readonly CallState[] = ["DIALING", "RINGING", "ANSWERED"];

/** True while the phone may ring or a conversation may run. */
export const isLive = (call: Pick<CallDoc, "state">): boolean => LIVE.includes(call.state);

const live = (ref: string) => ({ _id: ref, rank: { $lt: RANK.ENDED } });
/** Sent or not, the carrier has not named it yet. */
const unnamed = (ref: string) => ({ _id: ref, state: "DIALING", carrier_call_id: null });
/** A call keeps the carrier's first name for it: events of another name are ignored. */
const named = (call_id: string) => ({ carrier_call_id: { $in: [null, call_id] } });

/** RINGING -> ENDED: an inbound call that can't be accepted after all. */
export const rejectInbound = (ref: string, error: Record<string, unknown>, now: Date): Transition =>
  end({ ...live(ref), direction: "INBOUND", holder: null }, "failed", now, now, { error });

/** DIALING: the carrier gave the call its id. */
export const place = (ref: string, call_id: string, at: Date, due_at: Date): Transition => ({
  filter: { ...live(ref), carrier_call_id: null },
  update: { $set: { carrier_call_id: call_id, placed_at: at, due_at } },
});

const end = (
  filter: Record<string, unknown>,
  ended: CarrierEnd,
  at: Date,
  now: Date,
  more: Partial<CallDoc>,
  uncounted: { cap_key?: 1 } = {},
): Transition => ({
  filter,
  update: {
    $set: { state: "ENDED", rank: RANK.ENDED, ended, ended_at: at, due_at: plusMs(now, REPOLL_MS), ...more },
    $unset: { tended_by: 1, callee: 1, callee_key: 1, open_until: 1, ...uncounted },
  },
});

/** A carrier's step of a call, as a transition up the ranks. The guard rejects late, repeated and reordered steps. */
export function progress(ref: string, step: CallProgress, at: Date, now: Date): Transition {
  const id = step.call_id;
  const below = (rank: number) => ({ _id: ref, rank: { $lt: rank }, ...named(id) });
  switch (step.type) {
    case "queued":
      return {
        filter: { ...live(ref), carrier_call_id: null },
        update: { $set: { carrier_call_id: id, placed_at: at } },
      };
    case "ringing":
      return {
        filter: below(RANK.RINGING),
        update: { $set: { state: "RINGING", rank: RANK.RINGING, carrier_call_id: id, ringing_at: at } },
      };
    case "answered":
      return {
        filter: below(RANK.ANSWERED),
        update: {
          $set: {
            state: "ANSWERED",
            rank: RANK.ANSWERED,
            carrier_call_id: id,
            answered_at: at,
            due_at: plusMs(now, JOIN_GRACE_MS),
          },
        },
      };
    case "machine":
      return {
        filter: { ...live(ref), ...named(id), machine: null },
        update: { $set: { machine: step.verdict, carrier_call_id: id } },
      };
    case "beep":
      return {
        filter: { ...live(ref), ...named(id), beep_at: null },
        update: { $set: { beep_at: at, carrier_call_id: id } },
      };
    case "media_lost":
      return {
        filter: { ...live(ref), holder: null, hang_up: null, $or: [named(id), { carrier_leg_id: id }] },
        update: { $set: { hang_up: "media_failed", due_at: plusMs(now, REPOLL_MS) } },
      };
    case "relay_failed":
      return {
        filter: { _id: ref, ...named(id), media_fault: null },
        update: { $set: { media_fault: step.code } },
      };
    case "ended":
      return end(below(RANK.ENDED), step.end, at, now, {
        carrier_call_id: id,
        ...known({ cause: step.cause, said: step.said, talk_seconds: step.seconds, ended_by: step.by }),
      });
  }
}

const known = (of: object) => Object.fromEntries(Object.entries(of).filter(([, value]) => (value ?? null) !== null));

/** Live: the media of the conversation, once that is known of an inbound call. */
export const setMediaKind = (ref: string, media: MediaKind): Transition => ({
  filter: live(ref),
  update: { $set: { media } },
});

/** The carrier gave the live leg a name of its own. The first one stands. */
export const nameLeg = (ref: string, call_id: string, leg_id: string): Transition => ({
  filter: { _id: ref, ...named(call_id), carrier_leg_id: null },
  update: { $set: { carrier_call_id: call_id, carrier_leg_id: leg_id } },
});

/** A call that never was at the carrier does not count for caps on calls per callee. */
const UNCOUNTED = { cap_key: 1 } as const;

/** DIALING -> ENDED: nothing rang, for certain; the lead comes back at `release.due_at`. */
export const notDialled = (
  ref: string,
  { due_at, reason, fault }: NonNullable<CallDoc["release"]>,
  now: Date,
): Transition =>
  end(
    unnamed(ref),
    "not_dialled",
    now,
    now,
    { release: { due_at, reason, ...(fault === undefined ? {} : { fault }) } },
    UNCOUNTED,
  );

/** DIALING -> ENDED: the carrier's final no. */
export const refuse = (
  ref: string,
  ended: "invalid_number" | "failed",
  error: Record<string, unknown>,
  now: Date,
): Transition => end(unnamed(ref), ended, now, now, { error }, UNCOUNTED);

/** RINGING: the session's client has until then to join. */
export const awaitClient = (ref: string, join_until: Date): Transition => ({
  filter: { ...live(ref), session: true, holder: null, hang_up: null },
  update: { $set: { deadline_at: join_until, due_at: join_until } },
});

/** RINGING -> ENDED: no client joined the session in time; its lead waits for the next. */
export const unjoined = (ref: string, now: Date): Transition =>
  end({ ...live(ref), session: true, holder: null, deadline_at: { $lte: now } }, "not_dialled", now, now, {
    release: { due_at: now, reason: "no_client_joined" },
  });

/** Live -> ENDED: the session is over. */
export const endedSession = (ref: string, ended: "completed" | "canceled", now: Date): Transition =>
  end({ ...live(ref), session: true }, ended, now, now, {});

/**
 * DIALING -> ENDED: perhaps sent, never answered, never found. Counts as rung.
 * A sender that died right before the request and one that died right after it left the same document: the intent. No further mark distinguishes
 * them. One written before the request has the same gap behind it, one written after it is what the dead did not live to write; so the doubt goes
 * to the callee, and whether such an attempt is followed by another is the template's retry_on to decide. Senders that live and did not send use
 * notDialled.
 */
export const giveUp = (ref: string, now: Date): Transition => end(unnamed(ref), "unknown", now, now, {});

/** Live -> ENDED: the carrier does not know the call any more. */
export const endUnknown = (ref: string, error: Record<string, unknown>, now: Date): Transition =>
  end(live(ref), "unknown", now, now, { error });

/** What to do when voicemail answers. */
export const voicemailActionOf = ({ order }: Pick<CallDoc, "order">): VoicemailAction =>
  order?.voicemail_action ?? "hangup";

/** True where voicemail ends the call; else the conversation goes on, or leaves a message. */
export const endsForVoicemail = (call: Pick<CallDoc, "order">): boolean => voicemailActionOf(call) === "hangup";

/** Live -> ANSWERED, the lease handed over. The fence at answer: not after the window, not for voicemail that is to be hung up on, not twice. */
export const joinMedia = (ref: string, node: string, now: Date, due_at: Date): Transition => ({
  filter: {
    ...live(ref),
    holder: null,
    hang_up: null,
    $and: [
      { $or: [{ dial_until: null }, { dial_until: { $gt: now } }] },
      { $or: [{ machine: { $ne: "machine" } }, { "order.voicemail_action": { $in: ["continue", "leave_message"] } }] },
    ],
  },
  update: {
    $set: { state: "ANSWERED", rank: RANK.ANSWERED, holder: node, joined_at: now, due_at },
    $min: { answered_at: now },
    $unset: { tended_by: 1 },
  },
});

/** Live: a hang-up is requested. The first reason stands. `media`: how the carrier's side of the media had ended before. */
export const requestHangUp = (ref: string, reason: HangUpReason, now: Date, media?: MediaEnd): Transition => ({
  filter: { ...live(ref), hang_up: null },
  update: { $set: { hang_up: reason, due_at: plusMs(now, hangUpDelayMs(0)), ...(media && { media_end: media }) } },
});

/** Live: the carrier was asked again to end it, and is asked again when it is polled next. */
export const hangUpRepeated = (ref: string, due_at: Date): Transition => ({
  filter: live(ref),
  update: { $set: { due_at }, $inc: { hang_ups: 1 } },
});

/** Live, no conversation yet: this node renews the lead's lease from now on. */
export const ownLease = (ref: string, node: string): Transition => ({
  filter: { ...live(ref), holder: null },
  update: { $set: { tended_by: node } },
});

/** Live: from now on the carrier connects it to another number, and its media to the conversation end without an end of the call; `taken` false: the carrier refused, and all is as before. */
export const handOn = (ref: string, taken: boolean): Transition => ({
  filter: live(ref),
  update: taken ? { $set: { handed_on: true } } : { $unset: { handed_on: 1 } },
});

/** Live: the time of its next poll. */
export const pollAgain = (ref: string, due_at: Date): Transition => ({
  filter: live(ref),
  update: { $set: { due_at } },
});

/** ENDED: the lead is settled and the number slot released. `due_at` null: nothing is owed any more. */
export const close = (ref: string, now: Date, due_at: Date | null): Transition => ({
  filter: { _id: ref, state: "ENDED", closed_at: null },
  update: {
    $set: { closed_at: now, ...(due_at === null ? {} : { due_at }) },
    ...(due_at === null ? { $unset: { due_at: 1 } } : {}),
  },
});

/** What the call cost. The carrier's own figure stands; one of the price table gives way to it. */
export const priced = (
  ref: string,
  cost: { amount: number; currency: string; what: "carrier" | "price_table" },
): Transition => ({
  filter: { _id: ref, $or: [{ cost: null }, { cost_what: "price_table" }] },
  update: { $set: { cost: cost.amount, cost_currency: cost.currency, cost_what: cost.what } },
});

/** ENDED and closed: the price was polled; when it is again (`due_at` null: not). */
export const pricePolled = (ref: string, due_at: Date | null): Transition => ({
  filter: { _id: ref, state: "ENDED", closed_at: { $ne: null } },
  update: { $inc: { cost_looks: 1 }, ...(due_at === null ? { $unset: { due_at: 1 } } : { $set: { due_at } }) },
});
