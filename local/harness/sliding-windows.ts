import { textOf } from "../../shared/json.ts";
import type { LogLine } from "../tools/stack/child-group.ts";
import type { LedgerCall } from "./product.ts";

/** The carrier writes a request down this much after it was sent, where nobody logged when that was: a machine that is full holds it up longer. */
const LEDGER_LAG_MS = 150;
const LEDGER_LAG_OF_WINDOW = 0.1;
/** Two processes of one machine tell the time so exactly. */
const CLOCKS_APART_MS = 20;
const time = (iso: string): number => Date.parse(iso);

/** The calls, each with the last time at which a dialer logged before that it was about to send its request. Pure. */
export function withSending(calls: readonly LedgerCall[], log: readonly LogLine[]): LedgerCall[] {
  const times = Map.groupBy(
    log.filter(({ event }) => event === "call.dialling"),
    (line) => textOf(line["call_ref"]),
  );
  return calls.map((call) => {
    const before = (times.get(call.reference ?? "") ?? [])
      .map((line) => textOf(line["time"]))
      .filter((at) => Date.parse(at) <= Date.parse(call.placed_at));
    const sent_after = before.at(-1);
    return sent_after === undefined ? call : { ...call, sent_after };
  });
}

/**
 * Faults where more than `most` of these calls were certainly sent in one sliding window: a request left between the dialer's line of log before it and the
 * carrier's line in the ledger, which a busy machine writes late.
 */
export function crowded(what: string, calls: readonly LedgerCall[], most: number, windowMs: number): string[] {
  const lagMs = Math.max(LEDGER_LAG_MS, windowMs * LEDGER_LAG_OF_WINDOW);
  const sent = calls
    .map(({ placed_at, sent_after }) => ({
      after: sent_after === undefined ? time(placed_at) - lagMs : time(sent_after),
      before: time(placed_at),
    }))
    .toSorted((a, b) => a.after - b.after);
  const first = sent.find(({ after }, i) => {
    const end = after + windowMs - CLOCKS_APART_MS;
    let within = 0;
    for (let j = i; j < sent.length && (sent[j]?.after ?? end) < end; j++) if ((sent[j]?.before ?? end) < end) within++;
    return within > most;
  });
  return first === undefined
    ? []
    : [`I6 more than ${most} dials of ${what} within ${windowMs} ms of ${new Date(first.after).toISOString()}`];
}
