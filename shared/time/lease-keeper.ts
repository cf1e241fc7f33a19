import { MS_PER_SECOND, type Clock } from "./clock.ts";

/** A lease is renewed this often within its life. */
export const RENEWALS_PER_LEASE = 3;

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

/** Renews a lease in thirds of its life from now on. */
export function keepLease({ clock, leaseSeconds, renew, onLost, onError, renewNow = false }: LeaseKeeping): KeptLease {
  const leaseMs = leaseSeconds * MS_PER_SECOND;
  const over = new AbortController();
  let endsAtMs = clock.monotonicMs() + leaseMs;

  const once = async (): Promise<void> => {
    const askedMs = clock.monotonicMs();
    try {
      const ours = await renew();
      if (over.signal.aborted) return;
      if (ours) endsAtMs = askedMs + leaseMs;
      else {
        over.abort();
        onLost();
      }
    } catch (error) {
      onError(error);
    }
  };
  const keep = async (): Promise<void> => {
    if (renewNow) await once();
    while (!over.signal.aborted) {
      await clock.wait(leaseMs / RENEWALS_PER_LEASE, over.signal);
      if (!over.signal.aborted) await once();
    }
  };
  void keep();

  return { endsAtMs: () => endsAtMs, signal: over.signal, drop: () => over.abort() };
}
