import type { Clock } from "../../../shared/clock.ts";
import { hostRecords, MAX_HOSTS, type PauseChange } from "./host-records.ts";
import type { TryResult } from "../rules/delivery-verdict.ts";

/** Requests under way to one host, so that a slow receiver can't hold the rest up. */
export const MAX_PER_HOST = 10;
/** Requests under way in all. */
export const MAX_IN_FLIGHT = 200;
/** Of these, requests to hosts that have not answered well lately, all together: however many new or unwell hosts hang, those that are well keep room. */
export const MAX_UNPROVEN = 150;

/** Leave for one request. */
export interface HostSlot {
  /** The answer is there, or there will be none: the host's place is free again, and its health known. Tells of a pause that this began, or ended. */
  answered(result: TryResult): PauseChange;
  /** Nothing is left to be done: the place among all is free, and the host's too where there was no request. */
  release(): void;
}

/** Who may be asked now: requests under way per host and in all, hosts that are left alone, and hosts that have deliveries due. All of this process alone: several replicas allow as many times the bounds. */
export interface HostSlots {
  /** A place for a request to this host; null: it has none free, is left alone, or others were there before. */
  acquire(host: string): HostSlot | null;
  /** Notes that the host has deliveries due in the database. */
  enqueue(host: string): void;
  /** The same, and ends its pause: somebody believes that it is well again, which one request will show. */
  probe(host: string): void;
  /** Takes hosts that have deliveries due and may be asked, with as many places as each may have; the longest waiting first. They wait no more. */
  next(maxHosts: number): { host: string; places: HostSlot[] }[];
  /** Whether `next` would give any. */
  anyNext(): boolean;
  /** Until when a host is left alone; null: it is not. */
  pausedUntil(host: string): Date | null;
}

/** The book over this process's requests. */
export function hostSlots(clock: Clock, random: () => number): HostSlots {
  const under = new Map<string, number>();
  const records = hostRecords(clock, random);
  const waiting = new Set<string>();
  let [inFlight, unproven] = [0, 0];

  function free(host: string): number {
    const room = Math.min(MAX_IN_FLIGHT - inFlight, records.isProven(host) ? MAX_IN_FLIGHT : MAX_UNPROVEN - unproven);
    return Math.max(0, Math.min(room, records.allowed(host, MAX_PER_HOST) - (under.get(host) ?? 0)));
  }
  const count = (host: string, by: number): void => {
    const n = (under.get(host) ?? 0) + by;
    if (n > 0) under.set(host, n);
    else under.delete(host);
  };

  const wait = (host: string): void => {
    if (waiting.has(host) || waiting.size < MAX_HOSTS) waiting.add(host);
  };

  function take(host: string): HostSlot {
    let [asking, open] = [true, true];
    const doubtful = records.isProven(host) ? 0 : 1;
    count(host, 1);
    inFlight++;
    unproven += doubtful;
    const leave = (): void => {
      if (asking) {
        asking = false;
        count(host, -1);
      }
    };
    return {
      answered: (result) => {
        leave();
        return records.learn(host, result);
      },
      release() {
        leave();
        if (!open) return;
        open = false;
        inFlight--;
        unproven -= doubtful;
      },
    };
  }

  return {
    acquire: (host) => (waiting.has(host) || free(host) === 0 ? null : take(host)),
    enqueue: wait,
    probe(host) {
      records.endPause(host);
      wait(host);
    },
    next(maxHosts) {
      const out: { host: string; places: HostSlot[] }[] = [];
      for (const host of waiting) {
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
      for (const host of waiting) if (free(host) > 0) return true;
      return false;
    },
    pausedUntil: (host) => records.pausedUntil(host),
  };
}
