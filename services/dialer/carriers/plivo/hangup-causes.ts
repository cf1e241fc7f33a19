import type { CarrierEnd } from "../../../../shared/contracts/records/attempt.ts";
import type { CarrierWords, HangupParty } from "../carrier-port.ts";

/** Plivo's words for a call that is over, in ours (CallStatus of callbacks, call_state of records). */
const STATUS_ENDS: Record<string, CarrierEnd> = {
  completed: "completed",
  answer: "completed",
  busy: "busy",
  failed: "failed",
  timeout: "no_answer",
  "no-answer": "no_answer",
  no_answer: "no_answer",
  cancel: "canceled",
  canceled: "canceled",
};

/** Codes that say more than the word (https://www.plivo.com/docs/voice/troubleshooting/hangup-causes). */
const INVALID_DESTINATION = 2000;
const REJECTED = 3020;
const SCHEDULED = 6000;
const RING_TIMEOUT = 6010;

/** The end that a code alone implies for an unanswered call. */
const CODE_ENDS = new Map<number, CarrierEnd>([
  [1000, "canceled"],
  [3000, "no_answer"],
  [3010, "busy"],
  [RING_TIMEOUT, "no_answer"],
]);

/** Why a call ended, as Plivo reports it. `status`, `code` null: it gave none. `answered`: the call was answered. */
export interface Hangup {
  status: string | null;
  code: number | null;
  name: string | null;
  answered: boolean;
}

const byCode = (code: number | null, answered: boolean): CarrierEnd =>
  answered ? "completed" : (CODE_ENDS.get(code ?? 0) ?? "failed");

/** How the call ended, in our words; null for a status that is no end or that we do not know. */
export function endOf({ status, code, answered }: Hangup): CarrierEnd | null {
  const end = status === null ? byCode(code, answered) : (STATUS_ENDS[status.toLowerCase()] ?? null);
  if (end === null) return null;
  if (code === INVALID_DESTINATION && !answered) return "invalid_number";
  if (code === REJECTED && !answered) return "rejected";
  return code === SCHEDULED && answered ? "time_limit" : end;
}

/** Plivo's sources of a hang-up; for "Plivo" the code tells more. */
const SOURCES: Record<string, HangupParty> = {
  caller: "caller",
  callee: "callee",
  "call recipient": "callee",
  "api request": "we",
  "answer xml": "we",
  carrier: "carrier",
  error: "carrier",
};
/** Codes of hang-ups by Plivo itself: a limit of ours was over, or our document was. */
const BY_PLIVO = new Map<number, HangupParty>([
  [3070, "we"],
  [4010, "we"],
  [SCHEDULED, "timeout"],
  [RING_TIMEOUT, "timeout"],
]);

/** Who ended the call by HangupSource and HangupCauseCode (https://www.plivo.com/docs/voice/troubleshooting/hangup-causes); null: it does not say. */
export function partyOf(source: string | null, code: number | null): HangupParty | null {
  const word = source?.trim().toLowerCase() ?? "";
  return word === "plivo" ? (BY_PLIVO.get(code ?? 0) ?? "carrier") : (SOURCES[word] ?? null);
}

/** Plivo's cause for people: its number and its name. */
export const causeOf = ({ code, name }: Hangup): string | null =>
  code === null && name === null ? null : `plivo ${[code, name].filter((part) => part !== null).join(" ")}`;

/** The same in its parts. */
export const wordsOf = ({ code, name }: Hangup): CarrierWords => ({
  ...(code === null ? {} : { carrier_code: String(code) }),
  ...(name === null ? {} : { carrier_message: name }),
});

const TIME = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+-]\d\d:?\d\d)?$/;

/** Plivo's times, `2015-07-26 15:45:02+05:30` or, in UTC, without an offset, as ISO text; null for anything else. */
export function timeOf(text: unknown): string | null {
  const [, day, clock, zone] = TIME.exec(typeof text === "string" ? text.trim() : "") ?? [];
  const ms = day === undefined ? Number.NaN : Date.parse(`${day}T${clock}${zone ?? "Z"}`);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

/** An amount of dollars that came as a number or as text; null for anything else. Plivo bills in them. */
export function dollarsOf(value: unknown): { amount: number; currency: string } | null {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string" || !/^-?\d{1,9}(\.\d{1,10})?$/.test(text)) return null;
  return { amount: Math.abs(Number(text)), currency: "USD" };
}
