import type { Clock } from "../../shared/clock.ts";
import { after, allowed, type HostHealth } from "./host-health.ts";
import type { TryResult } from "./verdict.ts";

/** Requests under way to one host, so that a slow receiver can't hold the rest up. */
export const MAX_PER_HOST = 10;
/** Requests under way in all. */
export const MAX_IN_FLIGHT = 200;
/** Hosts remembered as waiting or unwell; those forgotten are found again by the next look into the database, and get a fresh start. */
const MAX_HOSTS = 10_000;

/** Leave for one request. */
export interface Place {
  /** The answer is there, or there will be none: the host's place is free again, and its health known. Tells of a pause that this began, or ended. */
  answered(result: TryResult): { began_ms: number } | { ended: true } | null;
  /** Nothing is left to be done: the place among all is free, and the host's too where there was no request. */
  done(): void;
}

/** Who may be asked now: requests under way per host and in all, hosts that are left alone, and hosts that have deliveries due. All of this process alone: several replicas allow as many times the bounds. */
export interface Hosts {
  /** A place for a request to this host; null: it has none free, is left alone, or others were there before. */
  place(host: string): Place | null;
  /** Notes that the host has deliveries due in the database. */
  wait(host: string): void;
  /** The same, and ends its pause: somebody believes that it is well again, which one request will show. */
  askNow(host: string): void;
  /** Takes hosts that have deliveries due and may be asked, with as many places as each may have; the longest waiting first. They wait no more. */
  next(maxHosts: number): { host: string; places: Place[] }[];
  /** Whether `next` would give any. */
  anyNext(): boolean;
  /** Until when a host is left alone; null: it is not. */
  pausedUntil(host: string): Date | null;
}

const remember = <T>(map: Map<string, T>, key: string, value: T): void => {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_HOSTS && oldest !== undefined) map.delete(oldest);
};

/** The book over this process's requests. */
export function hosts(clock: Clock, random: () => number): Hosts {
  const under = new Map<string, number>();
  const unwell = new Map<string, HostHealth>();
  const waiting = new Map<string, true>();
  let inFlight = 0;

  const free = (host: string): number => Math.max(0, Math.min(MAX_IN_FLIGHT - inFlight, allowed(unwell.get(host) ?? null, MAX_PER_HOST, clock.monotonicMs()) - (under.get(host) ?? 0)));
  const count = (host: string, by: number): void => {
    const n = (under.get(host) ?? 0) + by;
    if (n > 0) under.set(host, n); else under.delete(host);
  };

  const wait = (host: string): void => { if (waiting.has(host) || waiting.size < MAX_HOSTS) waiting.set(host, true); };

  function learn(host: string, result: TryResult): ReturnType<Place["answered"]> {
    const before = unwell.get(host) ?? null;
    const now = clock.monotonicMs();
    const health = after(before, result, now, random());
    if (health) remember(unwell, host, health); else unwell.delete(host);
    if (!health) return before && before.paused_until !== null ? { ended: true } : null;
    return health.paused_until !== null && health.paused_until !== before?.paused_until ? { began_ms: health.paused_until - now } : null;
  }

  function take(host: string): Place {
    let [asking, open] = [true, true];
    count(host, 1);
    inFlight++;
    const leave = (): void => { if (asking) { asking = false; count(host, -1); } };
    return {
      answered: (result) => { leave(); return learn(host, result); },
      done: () => { leave(); if (open) { open = false; inFlight--; } },
    };
  }

  return {
    place: (host) => (waiting.has(host) || free(host) === 0 ? null : take(host)),
    wait,
    askNow(host) {
      const health = unwell.get(host);
      if (health && health.paused_until !== null) unwell.set(host, { ...health, paused_until: clock.monotonicMs() });
      wait(host);
    },
    next(maxHosts) {
      const out: { host: string; places: Place[] }[] = [];
      for (const host of waiting.keys()) {
        if (out.length >= maxHosts || inFlight >= MAX_IN_FLIGHT) break;
        const n = free(host);
        if (n === 0) continue;
        waiting.delete(host);
        out.push({ host, places: Array.from({ length: n }, () => take(host)) });
      }
      return out;
    },
    anyNext() {
      if (inFlight >= MAX_IN_FLIGHT) return false;
      for (const host of waiting.keys()) if (free(host) > 0) return true;
      return false;
    },
    pausedUntil(host) {
      const until = unwell.get(host)?.paused_until ?? null;
      const left = until === null ? 0 : until - clock.monotonicMs();
      return left > 0 ? new Date(clock.now().getTime() + left) : null;
    },
  };
}
