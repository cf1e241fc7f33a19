import { MS_PER_SECOND, type Clock } from "./clock.ts";

/** A lease is renewed this often within its life. */
export const RENEWALS_PER_LEASE = 3;

/** After a renewal that failed: soon, so that the lease is renewed as soon as what it needs is back. */
const AGAIN_MS = 1000;

/** What a lease is kept with. */
export interface LeaseKeeping {
  clock: Clock;
  leaseSeconds: number;
  /** Asks for another `leaseSeconds`; false: the lease is another's now. A rejection is no answer: it is asked again. */
  renew(): Promise<boolean>;
  /** Called once, when a renewal says that the lease is lost. */
  onLost(): void;
  /** A renewal failed; it is tried again in its time. */
  onError(error: unknown): void;
  /** The first renewal is asked for at once, not after a third of the lease. */
  renewNow?: boolean;
}

/** A lease that is renewed until it is dropped or lost. */
export interface KeptLease {
  /** Monotonic ms at which the lease ends if no further renewal succeeds. */
  endsAtMs(): number;
  /** Aborted once the lease is dropped or lost. */
  readonly signal: AbortSignal;
  /** Stops renewing. */
  drop(): void;
}

/** Renews a lease in thirds of its life from now on, and sooner after a failure. */
export function keepLease({ clock, leaseSeconds, renew, onLost, onError, renewNow = false }: LeaseKeeping): KeptLease {
  const leaseMs = leaseSeconds * MS_PER_SECOND;
  const over = new AbortController();
  let endsAtMs = clock.monotonicMs() + leaseMs;

  /** Renews once; how long to wait for the next time. */
  const once = async (): Promise<number> => {
    const askedMs = clock.monotonicMs();
    const nextMs = leaseMs / RENEWALS_PER_LEASE;
    try {
      const ours = await renew();
      if (over.signal.aborted) return nextMs;
      if (ours) endsAtMs = askedMs + leaseMs;
      else {
        over.abort();
        onLost();
      }
      return nextMs;
    } catch (error) {
      onError(error);
      return Math.min(nextMs, AGAIN_MS);
    }
  };
  const keep = async (): Promise<void> => {
    let pauseMs = renewNow ? await once() : leaseMs / RENEWALS_PER_LEASE;
    while (!over.signal.aborted) {
      await clock.wait(pauseMs, over.signal);
      if (!over.signal.aborted) pauseMs = await once();
    }
  };
  void keep();

  return { endsAtMs: () => endsAtMs, signal: over.signal, drop: () => over.abort() };
}
