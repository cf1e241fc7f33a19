import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { keepLease } from "../../../shared/time/lease-keeper.ts";
import type { DialerParts } from "../deps.ts";

/**
 * An attempt's lease is kept for so long after its order was taken, ms: longer than its pre-checks and all that it waits for may take. What hangs
 * beyond that is left to the lead's sweep.
 */
const KEPT_AT_MOST_MS = 300_000;

/** The lease of an attempt's lead, from its order to its intent. */
export interface LeadLease {
  /** Aborted when the lease is another's now, or was kept for too long. */
  readonly lost: AbortSignal;
  /** Stops renewing: the attempt is over, or its call's document keeps the lease from here on. */
  drop(): void;
}

/**
 * Keeps the lease of an attempt that waits: for clients' servers, for its turn, or for a node that does not answer. An owner that lives must not lose its
 * lead for being slow, which would count as its death. An attempt that takes less than a third of a lease asks nothing.
 */
export function keepLeadLease(
  { clock, env, log, peers }: Pick<DialerParts, "clock" | "env" | "log" | "peers">,
  order: DialJob,
): LeadLease {
  const { lead_id, claim_no } = order;
  const takenMs = clock.monotonicMs();
  const lost = new AbortController();
  const lease = keepLease({
    clock,
    leaseSeconds: env.LEASE_SECONDS,
    renew: async () =>
      clock.monotonicMs() - takenMs < KEPT_AT_MOST_MS && (await peers.renewLease({ lead_id, claim_no })).done,
    onLost: () => lost.abort(),
    onError: (error) => {
      log.warn(
        { lead_id, claim_no, error: errorForLog(error) },
        "a lead's lease could not be renewed while its attempt waits",
      );
    },
  });
  return { lost: lost.signal, drop: () => lease.drop() };
}
