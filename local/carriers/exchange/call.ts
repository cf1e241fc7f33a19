import type { MachineTimes } from "../../people/person.ts";
import type { EndedBy } from "../ledger/entries.ts";
import type { CallLeg } from "./call-leg.ts";

/** A call's life; it only moves forward. */
export type CallPhase = "queued" | "initiated" | "ringing" | "answered" | "ended";

/** How a call ended, in the words most carriers share. */
export type EndReason = "completed" | "busy" | "no-answer" | "failed" | "canceled";

/** What a protocol asks for when it places a call. Times are simulated ms. */
export interface CallOrder {
  sid: string;
  account: string;
  to: string;
  from: string;
  /** Something of the caller's own that tells the attempt, for the ledger. */
  reference: string | null;
  ringTimeoutMs: number;
  maxAnsweredMs: number;
  /** More for the ledger's `placed` entry. */
  details: Record<string, unknown>;
  /** Of a person's call to us: their number is not shown. `from` stays the true one, for the ledger and for how they behave. */
  withheld?: boolean;
}

/** A person's call to one of our numbers. */
export type InboundOrder = Pick<CallOrder, "sid" | "account" | "from" | "to" | "details"> & { withheld: boolean };

/** Who called: the service, or a person. */
export type Direction = "outbound" | "inbound";

/** One phone call, whatever the protocol that placed it. Dates are wall time. */
export interface Call {
  readonly order: CallOrder;
  readonly direction: Direction;
  readonly leg: CallLeg;
  /** Aborted when the call ends. */
  readonly over: AbortSignal;
  readonly createdAt: Date;
  phase: CallPhase;
  startedAt: Date | null;
  answeredAt: Date | null;
  endedAt: Date | null;
  endReason: EndReason | null;
  endedBy: EndedBy | null;
  /** SIP status of the far end, null while unknown. */
  sipCode: number | null;
  /** Set at the answer when a machine took the call. */
  machine: MachineTimes | null;
}

/** The number of the person on the line, whoever called. */
export const personOf = ({ order, direction }: Pick<Call, "order" | "direction">): string =>
  direction === "inbound" ? order.from : order.to;

/** The call's part of a ledger entry. */
export const partiesOf = ({ order }: Call): { call_sid: string; to: string; from: string } => ({
  call_sid: order.sid,
  to: order.to,
  from: order.from,
});
