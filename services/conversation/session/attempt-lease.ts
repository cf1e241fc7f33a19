import { exponentialMs } from "../../../shared/time/backoff.ts";
import type { ParamsOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import type { AttemptFacts } from "../../../shared/contracts/records/attempt.ts";
import { codeOf, isOutOfReach, type ErrorCode } from "../../../shared/errors.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import { keepLease } from "../../../shared/time/lease-keeper.ts";
import { errorForLog } from "../../../shared/process/log.ts";

const SETTLE_BASE_MS = 250;
const SETTLE_MAX_MS = 5000;
/** Tries of a settle that is refused for what it says. */
const MAX_REFUSALS = 20;
/** How long a settle is tried whose leads service can't be reached, past the end of the lease: the attempt is this owner's while it lives. */
const MAX_SETTLE_MS = 3_600_000;

/** Dependencies of a lease. */
export interface AttemptLeaseDeps extends Pick<ServiceDeps, "bus" | "clock" | "log"> {
  lead_id: string;
  claim_no: number;
  lease_seconds: number;
  /** The call, of which its lead may not have been told; absent: it has no carrier. */
  placed?: ParamsOf<"leads.extend">["placed"] | undefined;
  /** Aborted when this process shuts down: from then on only the lease counts. */
  leaving: AbortSignal;
  /** The lease went to another process. */
  onLost(): void;
}

/** Asks for another lease; until that was answered, with word that the conversation has begun. `untold`: the call of which the lead was not told so far. */
function renewal({ bus, lead_id, claim_no, lease_seconds, placed }: AttemptLeaseDeps) {
  let told = false;
  const untold = () => (told || placed === undefined ? {} : { placed });
  return {
    untold,
    async renew(): Promise<boolean> {
      const begins = told ? {} : { answered: true, ...untold() };
      const { done } = await bus.call("leads.extend", { lead_id, claim_no, lease_seconds, ...begins });
      told = true;
      return done;
    },
  };
}

/** Renews the lease from now on. A failed renewal is retried; only the answer `done: false` means that the lease is lost. */
export function holdAttemptLease(deps: AttemptLeaseDeps) {
  const { bus, clock, log, lead_id, claim_no, lease_seconds, leaving, onLost } = deps;
  const { renew, untold } = renewal(deps);
  const lease = keepLease({
    clock,
    leaseSeconds: lease_seconds,
    renewNow: true,
    onLost,
    renew,
    onError: (error) =>
      log.warn(
        { event: "talk.lease_not_renewed", error: errorForLog(error) },
        "The lease of a live call could not be renewed; trying again.",
      ),
  });

  /** Tries once; null: done, else why not. */
  const trySettle = async (facts: AttemptFacts, end_call: boolean, tries: number): Promise<ErrorCode | null> => {
    try {
      const { done, outcome } = await bus.call("leads.settle", {
        lead_id,
        claim_no,
        facts,
        ...untold(),
        ...(end_call ? { end_call } : {}),
      });
      log.info(
        { event: "talk.settled", done, outcome },
        done ? "The conversation's facts are with the lead." : "The attempt had been settled already.",
      );
      return null;
    } catch (error) {
      const code = codeOf(error);
      log.warn(
        { event: "talk.not_settled", tries, code, error: errorForLog(error) },
        "The facts of a conversation could not be settled; trying again.",
      );
      return code;
    }
  };

  return {
    /**
     * Ends the attempt; `owesEnd`: whether its call is still to be ended; `keep` runs after each failed try. True: it is settled, by us or by another
     * process. False: it was refused again and again, the lease went to another, or this process leaves: the sweep goes on with what was kept.
     */
    async settle(facts: AttemptFacts, owesEnd: () => boolean, keep: () => Promise<void>): Promise<boolean> {
      let untilMs = clock.monotonicMs() + MAX_SETTLE_MS;
      const hurry = (): void => {
        untilMs = Math.min(untilMs, clock.monotonicMs() + lease_seconds * MS_PER_SECOND);
      };
      if (leaving.aborted) hurry();
      else leaving.addEventListener("abort", hurry, { once: true });
      for (let tries = 0, refusals = 0; refusals < MAX_REFUSALS; tries++) {
        const code = await trySettle(facts, owesEnd(), tries + 1);
        if (code === null) return true;
        await keep();
        const pause = exponentialMs(tries, SETTLE_BASE_MS, SETTLE_MAX_MS);
        if (!isOutOfReach(code)) refusals++;
        if (clock.monotonicMs() + pause >= untilMs || lease.signal.aborted) return false;
        await clock.wait(pause, leaving.aborted ? lease.signal : AbortSignal.any([lease.signal, leaving]));
      }
      return false;
    },
    /** Stops renewing. */
    drop: lease.drop,
  };
}

/** The lease of one attempt, on the side of its owner. */
export type AttemptLease = ReturnType<typeof holdAttemptLease>;
