import { Schema } from "mongoose";
import type { CarrierEnd } from "../../../shared/contracts/records/attempt.ts";
import type { Provider } from "../../../shared/contracts/records/configuration.ts";
import type { Prepared } from "../../../shared/contracts/conversation.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import type { RecordingState } from "../../../shared/contracts/records/recording-states.ts";
import type { HangUpReason, MediaEnd } from "../../../shared/hangup-source.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import { whenPresent } from "../../../shared/database/partial-indexes.ts";
import type { AnsweredBy, CallHandle, CarrierWords, HangupParty } from "../carriers/carrier-port.ts";

/** States of a call. VOID: a tombstone, written where no call was dialled so that none ever will be. */
export const CALL_STATES = ["DIALING", "RINGING", "ANSWERED", "ENDED", "VOID"] as const;
export type CallState = (typeof CALL_STATES)[number];

/** Media between carrier and conversation. */
export type MediaKind = Prepared["kind"];

/** What was to be dialled, as far as it is kept with the call. */
export type StoredOrder = Omit<DialJob, "payload" | "pre_checks" | "pre_check_defers" | "rate_limit" | "provider"> &
  Partial<Pick<DialJob, "provider">>;

/** A call's recording as it is kept with the call. Fields are absent until they are known. */
export interface StoredRecording {
  state: RecordingState;
  /** We record it ourselves: the carrier has none. */
  own?: boolean;
  /** What the carrier reported of it. */
  recording_id?: string;
  url?: string;
  seconds?: number;
  channels?: number;
  /** Where it is kept. */
  key?: string;
  bytes?: number;
  content_type?: string;
  /** Times the carrier was polled for an unreported recording, and had none. */
  looks?: number;
  /** Tries of the step under way: asking, fetching, then uploading. */
  tries: number;
  /** The lead's record names its address. */
  told?: boolean;
  /** The leads service knows that it is stored. */
  stored_told?: boolean;
  /** It was erased, or its time was over: what is told of it later brings nothing back. */
  ended?: boolean;
  /** When it is due for a worker; during a step, when that worker counts as gone. Absent when nothing is owed. */
  due_at?: Date;
  /** Why the last try failed, for people. */
  error?: string;
}

/** A call as it is kept: one document per attempt, `_id` its call_ref. Fields are absent until they are known, so that guards and partial indexes can ask for absence. */
export interface CallDoc {
  _id: string;
  lead_id: string;
  claim_no: number;
  state: CallState;
  /** Order of the states: a transition only ever leads to a higher rank. */
  rank: number;
  created_at: Date;
  /** An inbound call; absent: an outbound call. */
  direction?: "INBOUND";
  /** A session that a client joins from a browser: no carrier has it, and `carrier_call_id` is the name of its room. */
  session?: true;
  /** What was to be dialled, as it stood at the claim; absent in tombstones. */
  order?: StoredOrder;
  provider?: Provider;
  dial_until?: Date;
  /** After this instant the request may no longer be sent. */
  deadline_at?: Date;
  carrier_call_id?: string;
  /** The carrier's name of the live leg, where that is another than the call's. */
  carrier_leg_id?: string;
  placed_at?: Date;
  ringing_at?: Date;
  answered_at?: Date;
  joined_at?: Date;
  ended_at?: Date;
  /** The number that the call may be live to, and until when at the latest: the limit that the carrier was given. Absent once the carrier has confirmed its end. */
  callee?: string;
  /** Tenant and callee of a call that may be live: one call at a time has it. Absent in an inbound call that came while another was under way. */
  callee_key?: string;
  open_until?: Date;
  /** Tenant and callee of a call that counts for caps on calls per callee: one that was dialled by us, or may have been. */
  cap_key?: string;
  /** Times the carrier was asked to end it without having ended it. */
  hang_ups?: number;
  /** The dialer node that renews the lead's lease; absent once the lease is handed over or the call is over. */
  tended_by?: string;
  /** The conversation node that took the lease. */
  holder?: string;
  /** The carrier was asked to connect it to another number: the end of its media to the conversation is no end of the call. */
  handed_on?: boolean;
  machine?: AnsweredBy;
  /** The voicemail greeting was over. */
  beep_at?: Date;
  hang_up?: HangUpReason;
  /** The carrier's side of the media had ended before we asked for the hang-up. */
  media_end?: MediaEnd;
  /** The carrier's session of its conversation failed: the carrier's code. */
  media_fault?: string;
  ended?: CarrierEnd;
  /** Who ended it, by the carrier's word; absent where it gives none. */
  ended_by?: HangupParty;
  /** The network's own code, for people. */
  cause?: string;
  /** Why it ended, in the carrier's own terms. */
  said?: CarrierWords;
  talk_seconds?: number;
  /** When the lead comes back, where nothing was dialled. */
  release?: { due_at: Date; reason: string; fault?: string };
  /** What went wrong, as the lead's record will show it. */
  error?: Record<string, unknown>;
  /** When this call must be polled again; absent when nothing is owed any more. */
  due_at?: Date;
  /** The lead was settled (or released) and the number slot released. */
  closed_at?: Date;
  cost?: number;
  cost_currency?: string;
  /** Times the price was polled. */
  cost_looks?: number;
  /** Who named the price; absent in older documents, where it was the carrier. */
  cost_what?: "carrier" | "price_table";
  /** Media of the conversation; absent in older documents: text. */
  media?: MediaKind;
  /** Absent: it is not recorded. */
  recording?: StoredRecording;
  /** Marks of its last transitions (shared/database/guarded-collection.ts). */
  marks?: string[];
}

/** The call by the carrier's names; null while it has none. */
export const handleOf = ({
  carrier_call_id,
  carrier_leg_id,
}: Pick<CallDoc, "carrier_call_id" | "carrier_leg_id">): CallHandle | null =>
  carrier_call_id === undefined ? null : { call_id: carrier_call_id, leg_id: carrier_leg_id ?? null };

/** Whether a call is a session of a browser, which no carrier has. */
export const isSession = ({ session }: Pick<CallDoc, "session">): boolean => session === true;

const Free = Schema.Types.Mixed;

/** Collection `calls`; owner: the dialer. */
export const callSchema = new Schema<CallDoc>(
  {
    _id: { type: String, required: true },
    lead_id: { type: String, required: true },
    claim_no: { type: Number, required: true },
    state: { type: String, required: true },
    rank: { type: Number, required: true },
    created_at: { type: Date, required: true },
    direction: String,
    session: Boolean,
    order: Free,
    provider: String,
    dial_until: Date,
    deadline_at: Date,
    callee: String,
    callee_key: String,
    open_until: Date,
    cap_key: String,
    hang_ups: Number,
    carrier_call_id: String,
    carrier_leg_id: String,
    placed_at: Date,
    ringing_at: Date,
    answered_at: Date,
    joined_at: Date,
    ended_at: Date,
    tended_by: String,
    holder: String,
    handed_on: Boolean,
    machine: String,
    beep_at: Date,
    hang_up: String,
    media_end: String,
    media_fault: String,
    ended: String,
    ended_by: String,
    cause: String,
    said: Free,
    talk_seconds: Number,
    release: Free,
    error: Free,
    due_at: Date,
    closed_at: Date,
    cost: Number,
    cost_currency: String,
    cost_looks: Number,
    cost_what: String,
    media: String,
    recording: Free,
    marks: { type: [String], default: undefined },
  },
  SCHEMA_OPTIONS,
);

callSchema.index(
  { provider: 1, carrier_call_id: 1 },
  { name: "carrier_call", unique: true, ...whenPresent("carrier_call_id") },
);
callSchema.index({ provider: 1, carrier_leg_id: 1 }, { name: "carrier_leg", ...whenPresent("carrier_leg_id") });
callSchema.index({ due_at: 1 }, { name: "due", ...whenPresent("due_at") });
callSchema.index({ "recording.due_at": 1 }, { name: "recording_due", ...whenPresent("recording.due_at") });
callSchema.index({ tended_by: 1 }, { name: "tended", ...whenPresent("tended_by") });
callSchema.index({ callee: 1, open_until: 1 }, { name: "open_by_callee", ...whenPresent("callee") });
callSchema.index({ callee_key: 1 }, { name: "one_by_callee", unique: true, ...whenPresent("callee_key") });
callSchema.index({ cap_key: 1, created_at: 1 }, { name: "counted_by_callee", ...whenPresent("cap_key") });
callSchema.index({ lead_id: 1, claim_no: 1 }, { name: "by_lead" });
