import type { CarrierEnd } from "../../../shared/contracts/records/attempt.ts";
import type {
  AnsweredBy,
  CallProgress,
  CarrierCall,
  DialRequest,
} from "../../../services/dialer/carriers/carrier-port.ts";

/** A dialer's request to place a call, as it was decided, whatever became of it. */
export interface DialDecision {
  ref: string;
  lead_id: string;
  claim_no: number;
  to: string;
  from: string;
  at: number;
  by: string;
}

/** The carrier's view of a media leg: the process it lives in, and how it ends. */
export interface CarrierLeg {
  readonly process: string;
  /** Whether its process is still in the life in which it opened the leg. */
  readonly alive: boolean;
  closedByCarrier(): void;
  died(): void;
}

/** Who can end a call. */
export type SimEnder = "callee" | "api" | "relay_end" | "timeout" | "carrier";

/** A call as the carrier has it; the service knows it only by callbacks and polls. */
export interface SimCall {
  id: string;
  ref: string;
  lead_id: string;
  to: string;
  from: string;
  created: number;
  ringing: number | null;
  answered: number | null;
  ended: number | null;
  end: CarrierEnd | null;
  /** Who ended it: the person, our request, our end of the media, a time limit, or the carrier. */
  ended_by: SimEnder | null;
  machine: AnsweredBy | null;
  ring_ms: number;
  talk_ms: number;
  media: DialRequest["media"];
  callbacks: string;
  leg: CarrierLeg | null;
  /** From when to when the conversation ran. */
  talked: { from: number; to: number | null } | null;
  told: number;
  /** How long the carrier says it will keep the call before it rings. */
  queued_ms: number;
}

/** The carrier's own time, in whole seconds. */
export const carrierTime = (ms: number): string => new Date(Math.floor(ms / 1000) * 1000).toISOString();

/** The notice that a call has ended. */
export function endProgress(call: SimCall): CallProgress {
  const seconds = call.answered === null ? null : Math.round(((call.ended ?? 0) - call.answered) / 1000);
  const end = call.end ?? "failed";
  return { call_id: call.id, at: carrierTime(call.ended ?? 0), type: "ended", end, cause: null, seconds };
}

function progressOf(call: SimCall): CallProgress[] {
  const { id: call_id, answered, ended, machine, ringing } = call;
  const detected: CallProgress[] = machine === null ? [] : [{ call_id, at: null, type: "machine", verdict: machine }];
  if (ended === null) {
    const type = answered !== null ? "answered" : ringing !== null ? "ringing" : "queued";
    return [...detected, { call_id, at: null, type }];
  }
  const answer: CallProgress[] = answered === null ? [] : [{ call_id, at: carrierTime(answered), type: "answered" }];
  return [...answer, ...detected, endProgress(call)];
}

/** The call as the carrier shows it to a poll. */
export const carrierRecord = (call: SimCall): CarrierCall => ({
  call_id: call.id,
  created_at: new Date(Math.floor(call.created / 1000) * 1000),
  live: call.ended === null,
  progress: progressOf(call),
  cost: call.answered !== null && call.ended !== null ? { amount: 0.01, currency: "USD" } : null,
});
