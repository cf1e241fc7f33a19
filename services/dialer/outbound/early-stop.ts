import { plusSeconds } from "../../../shared/clock.ts";
import { noFacts, type AttemptFacts } from "../../../shared/contracts/attempt.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { codeOf, type ErrorCode } from "../../../shared/errors.ts";
import { callRef } from "../../../shared/ids.ts";
import type { Works } from "../deps.ts";

/** How an attempt ends before anything was written: the lead given back unspent, the attempt settled, or another holds the baton. */
export type Stop =
  | { kind: "release"; due_at: Date; reason: string; pre_check?: { name: string; results: Record<string, unknown>[] } }
  | { kind: "settle"; facts: AttemptFacts }
  | { kind: "lost" };

/** The lead comes back this much later when a part of the service was out of reach. */
const RETRY_SOON_SECONDS = 10;
/** Faults that pass by themselves; with any other the attempt is spent, so that a lead that breaks things does not come back for ever. */
const PASSING: readonly ErrorCode[] = ["DEPENDENCY_DOWN", "TIMEOUT", "STORE_UNAVAILABLE", "BUSY", "RATE_LIMITED"];

/** The lead given back because this process is going down. */
export const leaving = (now: Date): Extract<Stop, { kind: "release" }> => ({
  kind: "release",
  due_at: now,
  reason: "the dialer is shutting down",
});

/** The lead given back because a part of the service was out of reach. */
export const later = (error: unknown, now: Date): Extract<Stop, { kind: "release" }> => ({
  kind: "release",
  due_at: plusSeconds(now, RETRY_SOON_SECONDS),
  reason: codeOf(error),
});

/** What a fault before the intent means for the lead. Pure. */
export function stopFor(error: unknown, now: Date): Stop {
  const code = codeOf(error);
  if (PASSING.includes(code)) return later(error, now);
  return {
    kind: "settle",
    facts: {
      ...noFacts("not_dialled"),
      error: { code, message: error instanceof Error ? error.message : String(error) },
    },
  };
}

/** Ends an attempt of which nothing was written. Should leads be out of reach, its own sweep finds the lead and asks us: never dialled. */
export async function stopEarly(w: Works, { lead_id, claim_no }: DialJob, stop: Stop): Promise<void> {
  try {
    if (stop.kind === "release") {
      const { due_at, reason, pre_check } = stop;
      await w.bus.call("leads.release", {
        lead_id,
        claim_no,
        due_at: due_at.toISOString(),
        reason,
        ...(pre_check === undefined ? {} : { pre_check }),
      });
    }
    if (stop.kind === "settle") await w.bus.call("leads.settle", { lead_id, claim_no, facts: stop.facts });
  } finally {
    await w.together.letLineGo(callRef(lead_id, claim_no));
  }
}
