import { plusSeconds } from "../../../shared/time/clock.ts";
import { DECISION_CODES, noFacts, type AttemptFacts } from "../../../shared/contracts/records/attempt.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { codeOf, messageOf } from "../../../shared/errors.ts";
import { callRef } from "../../../shared/ids.ts";
import type { DialerParts } from "../deps.ts";

/** The lead is released: it comes back at `due_at`, its attempt unspent; after a technical fault when the leads service says, which counts them. */
export interface Release {
  kind: "release";
  due_at: Date;
  reason: string;
  /** The code of the technical fault that was the cause. */
  fault?: string;
  pre_check?: { name: string; results: Record<string, unknown>[] };
}

/** How an attempt ends before its intent is written: the lead released, the attempt settled, or the lease lost to another owner. */
export type EarlyStop = Release | { kind: "settle"; facts: AttemptFacts } | { kind: "lost" };

/** The lead comes back this much later after a technical fault where the leads service is of a version that does not count faults. */
const RETRY_SOON_SECONDS = 10;

/** The lead is released because this process shuts down. */
export const releaseForShutdown = (now: Date): Release => ({
  kind: "release",
  due_at: now,
  reason: "the dialer is shutting down",
});

/** The lead is released because of a technical fault. */
export const releaseForFault = (error: unknown, now: Date): Release => ({
  kind: "release",
  due_at: plusSeconds(now, RETRY_SOON_SECONDS),
  reason: codeOf(error),
  fault: codeOf(error),
});

/** What an error before the intent means for the lead: the end where it is a decision about the lead, else only that the attempt is tried again. Pure. */
export function stopForError(error: unknown, now: Date): EarlyStop {
  const code = codeOf(error);
  if (!DECISION_CODES.includes(code)) return releaseForFault(error, now);
  return { kind: "settle", facts: { ...noFacts("not_dialled"), error: { code, message: messageOf(error) } } };
}

/** Ends an attempt of which nothing was written. Where the leads service is out of reach, the lead's own sweep reconciles it with us: never dialled. */
export async function stopEarly(
  { bus, metrics, peers }: DialerParts,
  { lead_id, claim_no }: DialJob,
  stop: EarlyStop,
): Promise<void> {
  if (stop.kind === "release" && stop.fault !== undefined)
    metrics.count("callagent_dial_faults_total", { code: stop.fault });
  try {
    if (stop.kind === "release") {
      const { due_at, reason, fault, pre_check } = stop;
      await bus.call("leads.release", {
        lead_id,
        claim_no,
        due_at: due_at.toISOString(),
        reason,
        ...(fault === undefined ? {} : { fault }),
        ...(pre_check === undefined ? {} : { pre_check }),
      });
    }
    if (stop.kind === "settle") await bus.call("leads.settle", { lead_id, claim_no, facts: stop.facts });
  } finally {
    bus.broadcast("call.ended", { call_ref: callRef(lead_id, claim_no) });
    await peers.releaseSlotEventually(callRef(lead_id, claim_no));
  }
}
