import type { Call, EndReason } from "./call.ts";
import type { CallRow } from "../ledger/call-rows.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { openLeg } from "./call-leg.ts";
import { startTime } from "./simulated-time.ts";

const END_REASONS: readonly string[] = ["completed", "busy", "no-answer", "failed", "canceled"] satisfies EndReason[];
const isEndReason = (word: string): word is EndReason => END_REASONS.includes(word);
const date = (text: string | null): Date | null => (text === null ? null : new Date(text));

/** A call of an earlier run, which is over. */
export interface RestoredCall {
  call: Call;
  row: CallRow;
}

function endedCall(row: CallRow): Call {
  const over = AbortSignal.abort();
  return {
    order: {
      sid: row.sid,
      account: row.account,
      to: row.to,
      from: row.from,
      reference: row.reference,
      ringTimeoutMs: 0,
      maxAnsweredMs: 0,
      details: {},
    },
    direction: row.direction,
    leg: openLeg(
      startTime(1),
      { heard: () => undefined, said: () => undefined, digit: () => undefined, turn: () => undefined },
      over,
    ),
    over,
    createdAt: new Date(row.placed_at),
    phase: "ended",
    startedAt: date(row.started_at),
    answeredAt: date(row.answered_at),
    endedAt: date(row.ended_at),
    endReason: isEndReason(row.status) ? row.status : "failed",
    endedBy: row.ended_by,
    sipCode: null,
    machine: null,
  };
}

/**
 * An account's calls of a ledger read back from its file, so that a restarted carrier still answers for them. Calls that were live when
 * it stopped have ended: their line went dead.
 */
export function restoreCalls(ledger: Ledger, account: string): RestoredCall[] {
  return ledger
    .calls()
    .filter((row) => row.account === account)
    .map((row) => {
      if (row.ended_at === null) {
        ledger.write({
          kind: "hangup",
          call_sid: row.sid,
          to: row.to,
          from: row.from,
          status: row.answered ? "completed" : "failed",
          by: "carrier",
          sip_code: null,
        });
      }
      return { call: endedCall(ledger.call(row.sid) ?? row), row };
    });
}
