import type { Clock } from "../../../shared/time/clock.ts";
import { hostRecords, MAX_HOSTS, type HostRecords, type PauseChange } from "./host-records.ts";
import type { TryResult } from "../rules/delivery-verdict.ts";

/** Requests under way to one host, so that a slow receiver can't hold the rest up. */
export const MAX_PER_HOST = 10;
/** Requests under way in all. */
export const MAX_IN_FLIGHT = 200;
/** Of these, requests to hosts that have not answered well lately, all together: however many new or unwell hosts hang, those that are well keep room. */
export const MAX_UNPROVEN = 150;

/** The permit for one request. */
export interface HostSlot {
  /** The request has ended: the host's slot is free again, and its health known. Returns a pause that this began, or ended. */
  answered(result: TryResult): PauseChange;
  /** Frees the slot among all requests, and the host's too where there was no request. */
  release(): void;
}

/**
 * Hosts that may be requested now: requests under way per host and in all, hosts that are paused, and hosts that have deliveries due. All of this
 * process alone:
 * several replicas allow as many times the bounds.
 */
export class HostSlots {
  readonly #inUse = new Map<string, number>();
  readonly #records: HostRecords;
  readonly #waiting = new Set<string>();
  #inFlight = 0;
  #unproven = 0;

  constructor(clock: Clock, random: () => number) {
    this.#records = hostRecords(clock, random);
  }

  /** A slot for a request to this host; null: it has none free, is paused, or has deliveries due that come first. */
  acquire(host: string): HostSlot | null {
    return this.#waiting.has(host) || this.#free(host) === 0 ? null : this.#take(host);
  }

  /** Notes that the host has deliveries due in the database. */
  enqueue(host: string): void {
    if (this.#waiting.has(host) || this.#waiting.size < MAX_HOSTS) this.#waiting.add(host);
  }

  /** The same, and ends its pause: one request shows whether the host is well again. */
  probe(host: string): void {
    this.#records.endPause(host);
    this.enqueue(host);
  }

  /** Takes hosts that have deliveries due and may be requested, with as many slots as each may have; the longest waiting first. They wait no more. */
  next(maxHosts: number): { host: string; slots: HostSlot[] }[] {
    const out: { host: string; slots: HostSlot[] }[] = [];
    for (const host of this.#waiting) {
      if (out.length >= maxHosts || this.#inFlight >= MAX_IN_FLIGHT) break;
      const length = this.#free(host);
      if (length === 0) continue;
      this.#waiting.delete(host);
      out.push({ host, slots: Array.from({ length }, () => this.#take(host)) });
    }
    return out;
  }

  /** Whether `next` would give any. */
  anyNext(): boolean {
    if (this.#inFlight >= MAX_IN_FLIGHT) return false;
    for (const host of this.#waiting) if (this.#free(host) > 0) return true;
    return false;
  }

  /** Whether the host fails whatever it is sent: what is due to it waits for it, and not for its own plan. */
  isDown(host: string): boolean {
    return this.#records.isDown(host);
  }

  /** Until when a host is paused; null: it is not. */
  pausedUntil(host: string): Date | null {
    return this.#records.pausedUntil(host);
  }

  #free(host: string): number {
    const unproven = this.#records.isProven(host) ? MAX_IN_FLIGHT : MAX_UNPROVEN - this.#unproven;
    const room = Math.min(MAX_IN_FLIGHT - this.#inFlight, unproven);
    return Math.max(0, Math.min(room, this.#records.room(host, this.#inUse.get(host) ?? 0, MAX_PER_HOST)));
  }

  #count(host: string, by: number): void {
    const n = (this.#inUse.get(host) ?? 0) + by;
    if (n > 0) this.#inUse.set(host, n);
    else this.#inUse.delete(host);
  }

  #take(host: string): HostSlot {
    let [requesting, held] = [true, true];
    const unproven = this.#records.isProven(host) ? 0 : 1;
    this.#records.begin(host);
    this.#count(host, 1);
    this.#inFlight++;
    this.#unproven += unproven;
    const leave = (): void => {
      if (requesting) this.#count(host, -1);
      requesting = false;
    };
    return {
      answered: (result) => {
        leave();
        return this.#records.learn(host, result);
      },
      release: () => {
        // a probe that was not made
        if (requesting) this.#records.endPause(host);
        leave();
        if (!held) return;
        held = false;
        this.#inFlight--;
        this.#unproven -= unproven;
      },
    };
  }
}
