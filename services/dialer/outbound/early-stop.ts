import { plusSeconds } from "../../../shared/time/clock.ts";
import { noFacts, type AttemptFacts } from "../../../shared/contracts/records/attempt.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { codeOf, type ErrorCode } from "../../../shared/errors.ts";
import { callRef } from "../../../shared/ids.ts";
import type { DialerParts } from "../deps.ts";

/** The lead is released: it comes back at `due_at`, its attempt unspent. */
export interface Release {
  kind: "release";
  due_at: Date;
  reason: string;
  pre_check?: { name: string; results: Record<string, unknown>[] };
}

/** How an attempt ends before its intent is written: the lead released, the attempt settled, or the lease lost to another owner. */
export type EarlyStop = Release | { kind: "settle"; facts: AttemptFacts } | { kind: "lost" };

/** The lead comes back this much later when a part of the service was out of reach. */
const RETRY_SOON_SECONDS = 10;
/** Errors that pass by themselves; any other spends the attempt, so that a lead that breaks things does not come back for ever. */
const TRANSIENT: readonly ErrorCode[] = ["DEPENDENCY_DOWN", "TIMEOUT", "STORE_UNAVAILABLE", "BUSY", "RATE_LIMITED"];

/** The lead is released because this process shuts down. */
export const releaseForShutdown = (now: Date): Release => ({
  kind: "release",
  due_at: now,
  reason: "the dialer is shutting down",
});

/** The lead is released because a part of the service was out of reach. */
export const releaseForRetry = (error: unknown, now: Date): Release => ({
  kind: "release",
  due_at: plusSeconds(now, RETRY_SOON_SECONDS),
  reason: codeOf(error),
});

/** What an error before the intent means for the lead. Pure. */
export function stopForError(error: unknown, now: Date): EarlyStop {
  const code = codeOf(error);
  if (TRANSIENT.includes(code)) return releaseForRetry(error, now);
  const message = error instanceof Error ? error.message : String(error);
  return { kind: "settle", facts: { ...noFacts("not_dialled"), error: { code, message } } };
}

/** Ends an attempt of which nothing was written. Where the leads service is out of reach, the lead's own sweep reconciles it with us: never dialled. */
export async function stopEarly(
  { bus, peers }: DialerParts,
  { lead_id, claim_no }: DialJob,
  stop: EarlyStop,
): Promise<void> {
  try {
    if (stop.kind === "release") {
      const { due_at, reason, pre_check } = stop;
      await bus.call("leads.release", {
        lead_id,
        claim_no,
        due_at: due_at.toISOString(),
        reason,
        ...(pre_check === undefined ? {} : { pre_check }),
      });
    }
    if (stop.kind === "settle") await bus.call("leads.settle", { lead_id, claim_no, facts: stop.facts });
  } finally {
    await peers.releaseSlotEventually(callRef(lead_id, claim_no));
  }
}
