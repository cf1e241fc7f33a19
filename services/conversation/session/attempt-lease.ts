import { exponentialMs } from "../../../shared/backoff.ts";
import type { Bus } from "../../../shared/bus.ts";
import type { Clock } from "../../../shared/clock.ts";
import type { AttemptFacts } from "../../../shared/contracts/attempt.ts";
import { codeOf } from "../../../shared/errors.ts";
import { errorForLog, type Log } from "../../../shared/log.ts";

/** The lease is renewed this often within its life. */
const RENEWALS_PER_LEASE = 3;
const SETTLE_BASE_MS = 250;
const SETTLE_MAX_MS = 5000;
/** Tries of a settle that is refused although the lease lives. */
const MAX_SETTLE_TRIES = 20;
const MS_PER_SECOND = 1000;

/** The baton of one attempt as its holder keeps it. */
export interface AttemptLease {
  /** Ends the attempt. True: it is settled, by us or by somebody else; false: it could not be done while the lease lived. */
  settle(facts: AttemptFacts): Promise<boolean>;
  /** Stops renewing. */
  drop(): void;
}

/** What the baton is kept with. */
export interface AttemptLeaseDeps {
  bus: Bus;
  clock: Clock;
  log: Log;
  lead_id: string;
  claim_no: number;
  lease_seconds: number;
  /** The baton went to somebody else. */ onLost(): void;
}

/** Keeps the lease alive from now on. A renewal that fails is tried again; only the answer `done: false` means that the baton is lost. */
export function holdAttemptLease({
  bus,
  clock,
  log,
  lead_id,
  claim_no,
  lease_seconds,
  onLost,
}: AttemptLeaseDeps): AttemptLease {
  const dropped = new AbortController();
  let leaseEnds = clock.monotonicMs() + lease_seconds * MS_PER_SECOND;

  const renew = async (): Promise<void> => {
    while (!dropped.signal.aborted) {
      try {
        const asked = clock.monotonicMs();
        const { done } = await bus.call("leads.extend", { lead_id, claim_no, lease_seconds });
        if (dropped.signal.aborted) return;
        if (!done) {
          dropped.abort();
          onLost();
          return;
        }
        leaseEnds = asked + lease_seconds * MS_PER_SECOND;
      } catch (error) {
        log.warn(
          { event: "talk.lease_not_renewed", lead_id, claim_no, error: errorForLog(error) },
          "The lease of a live call could not be renewed; trying again.",
        );
      }
      await clock.wait((lease_seconds * MS_PER_SECOND) / RENEWALS_PER_LEASE, dropped.signal);
    }
  };
  void renew();

  return {
    async settle(facts) {
      for (let tries = 0; tries < MAX_SETTLE_TRIES; tries++) {
        try {
          const { done, outcome } = await bus.call("leads.settle", { lead_id, claim_no, facts });
          log.info(
            { event: "talk.settled", lead_id, claim_no, done, outcome },
            done ? "The talk's facts are with the lead." : "The attempt had been settled already.",
          );
          return true;
        } catch (error) {
          log.warn(
            {
              event: "talk.not_settled",
              lead_id,
              claim_no,
              tries: tries + 1,
              code: codeOf(error),
              error: errorForLog(error),
            },
            "The facts of a talk could not be handed over; trying again while the lease lives.",
          );
        }
        const pause = exponentialMs(tries, SETTLE_BASE_MS, SETTLE_MAX_MS);
        if (clock.monotonicMs() + pause >= leaseEnds || dropped.signal.aborted) return false;
        await clock.wait(pause, dropped.signal);
      }
      return false;
    },
    drop: () => dropped.abort(),
  };
}
