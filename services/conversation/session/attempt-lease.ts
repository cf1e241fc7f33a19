import { exponentialMs } from "../../../shared/time/backoff.ts";
import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import type { AttemptFacts } from "../../../shared/contracts/records/attempt.ts";
import { codeOf } from "../../../shared/errors.ts";
import { keepLease } from "../../../shared/time/lease-keeper.ts";
import { errorForLog } from "../../../shared/process/log.ts";

const SETTLE_BASE_MS = 250;
const SETTLE_MAX_MS = 5000;
/** Tries of a settle that is refused although the lease is valid. */
const MAX_SETTLE_TRIES = 20;

/** Dependencies of a lease. */
export interface AttemptLeaseDeps extends Pick<ServiceDeps, "bus" | "clock" | "log"> {
  lead_id: string;
  claim_no: number;
  lease_seconds: number;
  /** The lease went to another process. */
  onLost(): void;
}

/** Renews the lease from now on. A failed renewal is retried; only the answer `done: false` means that the lease is lost. */
export function holdAttemptLease(deps: AttemptLeaseDeps) {
  const { bus, clock, log, lead_id, claim_no, lease_seconds, onLost } = deps;
  const lease = keepLease({
    clock,
    leaseSeconds: lease_seconds,
    renewNow: true,
    onLost,
    renew: async () => (await bus.call("leads.extend", { lead_id, claim_no, lease_seconds })).done,
    onError: (error) =>
      log.warn(
        { event: "talk.lease_not_renewed", lead_id, claim_no, error: errorForLog(error) },
        "The lease of a live call could not be renewed; trying again.",
      ),
  });

  const trySettle = async (facts: AttemptFacts, tries: number): Promise<boolean> => {
    try {
      const { done, outcome } = await bus.call("leads.settle", { lead_id, claim_no, facts });
      log.info(
        { event: "talk.settled", lead_id, claim_no, done, outcome },
        done ? "The conversation's facts are with the lead." : "The attempt had been settled already.",
      );
      return true;
    } catch (error) {
      log.warn(
        { event: "talk.not_settled", lead_id, claim_no, tries, code: codeOf(error), error: errorForLog(error) },
        "The facts of a conversation could not be settled; trying again while the lease lives.",
      );
      return false;
    }
  };

  return {
    /** Ends the attempt. True: it is settled, by us or by another process; false: it failed until the lease expired. */
    async settle(facts: AttemptFacts): Promise<boolean> {
      for (let tries = 0; tries < MAX_SETTLE_TRIES; tries++) {
        if (await trySettle(facts, tries + 1)) return true;
        const pause = exponentialMs(tries, SETTLE_BASE_MS, SETTLE_MAX_MS);
        if (clock.monotonicMs() + pause >= lease.endsAtMs() || lease.signal.aborted) return false;
        await clock.wait(pause, lease.signal);
      }
      return false;
    },
    /** Stops renewing. */
    drop: lease.drop,
  };
}

/** The lease of one attempt, on the side of its owner. */
export type AttemptLease = ReturnType<typeof holdAttemptLease>;
