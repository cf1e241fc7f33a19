import type { Call, EndReason } from "../calls.ts";
import type { CallRow } from "../ledger-calls.ts";
import type { Ledger } from "../ledger.ts";
import { openLine } from "../line.ts";
import { startTime } from "../time.ts";
import type { CallParams } from "./params.ts";
import type { Account, TwilioCall } from "./twilio-call.ts";

const END_REASONS: readonly string[] = ["completed", "busy", "no-answer", "failed", "canceled"] satisfies EndReason[];
const isEndReason = (word: string): word is EndReason => END_REASONS.includes(word);
const date = (text: string | null): Date | null => (text === null ? null : new Date(text));

const NOTHING_TO_DO: Omit<CallParams, "to" | "from"> = {
  twiml: null, answer: null, fallback: null, status: null, statusEvents: [], timeoutSeconds: 0, timeLimitSeconds: 0, amd: null,
};

function endedCall(row: CallRow, account: Account): TwilioCall {
  const over = AbortSignal.abort();
  const call: Call = {
    order: { sid: row.sid, account: account.sid, to: row.to, from: row.from, reference: row.reference, ringTimeoutMs: 0, maxTalkMs: 0, details: {} },
    direction: row.direction,
    line: openLine(startTime(1), { heard: () => undefined, said: () => undefined, digit: () => undefined }, over),
    over, createdAt: new Date(row.placed_at), phase: "ended", startedAt: date(row.started_at), answeredAt: date(row.answered_at),
    endedAt: date(row.ended_at), endReason: isEndReason(row.status) ? row.status : "failed", endedBy: row.ended_by, sipCode: null, machine: null,
  };
  return {
    call, account, params: { ...NOTHING_TO_DO, to: row.to, from: row.from }, parentSid: null, answeredBy: row.answered_by,
    redirect: { leave: new AbortController(), next: null }, sequence: 0,
  };
}

/**
 * The calls of a ledger read back from its file, so that a restarted carrier still answers for them. Calls that were live when
 * it stopped have ended: their line went dead.
 */
export function recallCalls(ledger: Ledger, accounts: readonly Account[]): Map<string, TwilioCall> {
  const calls = new Map<string, TwilioCall>();
  for (const row of ledger.calls()) {
    const account = accounts.find((a) => a.sid === row.account);
    if (!account) continue;
    if (row.ended_at === null) {
      ledger.write({ kind: "hangup", call_sid: row.sid, to: row.to, from: row.from, status: row.answered ? "completed" : "failed", by: "carrier", sip_code: null });
    }
    calls.set(row.sid, endedCall(row, account));
  }
  return calls;
}
