import type { Clock } from "../../../shared/time/clock.ts";
import { hostRecords, type HostRecords, type PauseChange } from "./host-records.ts";
import { WaitingReceivers } from "./waiting-receivers.ts";
import { keyOf, tenantOf, type Receiver } from "../rules/receiver.ts";
import type { TryResult } from "../rules/delivery-verdict.ts";

/** Requests under way to one receiver, so that a slow one can't hold the rest up. */
export const MAX_PER_RECEIVER = 10;
/** To one host, of all tenants together: room for the others where some tenants' requests hang. */
export const MAX_PER_HOST = 50;
/** Of one tenant, to all of its hosts together. */
export const MAX_PER_TENANT = 100;
/** Of these, requests to receivers that have not answered well lately. */
export const MAX_UNPROVEN_PER_TENANT = 75;
/** Requests under way in all. */
export const MAX_IN_FLIGHT = 200;
/** Of these, requests to receivers that have not answered well lately: however many new or unwell ones hang, those that are well keep room. */
export const MAX_UNPROVEN = 150;
/** The last of them go by turn, where receivers wait: what comes in does not pass them by. */
const BY_TURN = 20;

/** What the end of a request shows of its receiver. `pause`: one that this began, or ended. */
export interface TryNews {
  pause: PauseChange;
  /** The receiver was down when the request began. */
  began_down: boolean;
  /** The receiver has answered another one well since then. */
  answered_since: boolean;
}

/** The permit for one request. */
export interface HostSlot {
  /** The request has ended: the receiver's slot is free again, and its health known. */
  answered(result: TryResult): TryNews;
  /** Frees the slot among all requests, and the receiver's too where there was no request. */
  release(): void;
}

/** What a request counts in, and how many fit there. */
type Ceiling = readonly [name: string, most: number];

/** Where a request counts until its answer is there. */
const untilAnswered = ({ host }: Receiver): Ceiling => [`host ${host}`, MAX_PER_HOST];

/** Where it counts until its result is written down. */
const untilWritten = (receiver: Receiver, proven: boolean): Ceiling[] => {
  const tenant = tenantOf(receiver);
  const inAll: Ceiling[] = [
    ["all", MAX_IN_FLIGHT],
    [`reseller ${receiver.reseller_id}`, MAX_IN_FLIGHT],
    [`tenant ${tenant}`, MAX_PER_TENANT],
  ];
  if (proven) return inAll;
  return [...inAll, ["unproven", MAX_UNPROVEN], [`unproven ${tenant}`, MAX_UNPROVEN_PER_TENANT]];
};

/**
 * Receivers that may be requested now: requests under way to each, to its host, of its tenant and in all, receivers that are paused, and receivers
 * that have deliveries due. One tenant's failures, hanging requests or hosts without number take no other's room, and the merchants
 * of one reseller, however many, no other reseller's turn. All of this process alone: several
 * replicas allow as many times the bounds.
 */
export class HostSlots {
  /** Requests under way, and receivers that wait, by the name of what they count in; nothing is kept where there are none. */
  readonly #counts = new Map<string, number>();
  readonly #clock: Clock;
  readonly #records: HostRecords;
  readonly #waiting = new WaitingReceivers();
  /** Receivers that were down and are well again, by their key: what waits by its own plan is to be sent now. */
  readonly #recovered = new Map<string, Receiver>();

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#records = hostRecords(clock, random);
  }

  /** A slot for a request to this receiver; null: it has none free, is paused, or deliveries that are due come first. */
  acquire(receiver: Receiver): HostSlot | null {
    if (this.#waiting.has(receiver) || this.#free(receiver) === 0) return null;
    return this.#room(["all", MAX_IN_FLIGHT]) <= BY_TURN && this.#waiting.size > 0 ? null : this.#take(receiver);
  }

  /** Notes that the receiver has deliveries due in the database. */
  enqueue(receiver: Receiver): void {
    this.#waiting.add(receiver);
  }

  /** The same, and ends its pause: one request shows whether the receiver is well again. */
  probe(receiver: Receiver): void {
    this.#records.endPause(receiver);
    this.enqueue(receiver);
  }

  /**
   * Takes receivers that have deliveries due and may be requested, with as many slots as each may have; first those of whoever has the fewest requests under
   * way. They wait no more.
   */
  next(most: number): { receiver: Receiver; slots: HostSlot[] }[] {
    const out: { receiver: Receiver; slots: HostSlot[] }[] = [];
    for (const receiver of this.#inTurn()) {
      if (out.length >= most || this.#isFull()) break;
      const length = this.#free(receiver);
      if (length === 0) continue;
      this.#waiting.delete(receiver);
      out.push({ receiver, slots: Array.from({ length }, () => this.#take(receiver)) });
    }
    return out;
  }

  /** Receivers that were down and are well again, until `released`. */
  recovered(): Receiver[] {
    return [...this.#recovered.values()];
  }

  /** What waited for a receiver is due now. */
  released(receiver: Receiver): void {
    this.#recovered.delete(keyOf(receiver));
    this.enqueue(receiver);
  }

  /** Whether `next` or `recovered` would give any. */
  anyNext(): boolean {
    if (this.#recovered.size > 0) return true;
    if (this.#isFull()) return false;
    for (const receiver of this.#inTurn()) if (this.#free(receiver) > 0) return true;
    return false;
  }

  /** Whether the receiver fails whatever it is sent: what is due to it waits for it, and not for its own plan. */
  isDown(receiver: Receiver): boolean {
    return this.#records.isDown(receiver);
  }

  /** Until when a receiver is paused; null: it is not. */
  pausedUntil(receiver: Receiver): Date | null {
    return this.#records.pausedUntil(receiver);
  }

  #inTurn(): Generator<Receiver> {
    const count = (name: string): number => this.#counts.get(name) ?? 0;
    return this.#waiting.inTurn({ reseller: (id) => count(`reseller ${id}`), tenant: (id) => count(`tenant ${id}`) });
  }

  #isFull(): boolean {
    return this.#room(["all", MAX_IN_FLIGHT]) === 0;
  }

  #room([name, most]: Ceiling): number {
    return Math.max(0, most - (this.#counts.get(name) ?? 0));
  }

  #free(receiver: Receiver): number {
    const own = this.#records.room(receiver, this.#counts.get(keyOf(receiver)) ?? 0, MAX_PER_RECEIVER);
    if (own === 0) return 0;
    const ceilings = [untilAnswered(receiver), ...untilWritten(receiver, this.#records.isProven(receiver))];
    return ceilings.reduce((least, ceiling) => Math.min(least, this.#room(ceiling)), own);
  }

  #count(name: string, by: number): void {
    const n = (this.#counts.get(name) ?? 0) + by;
    if (n > 0) this.#counts.set(name, n);
    else this.#counts.delete(name);
  }

  /** Counts one more in each of these; the function, one less: once, however often it is called. */
  #enter(names: readonly string[]): () => boolean {
    for (const name of names) this.#count(name, 1);
    let inside = true;
    return () => {
      if (!inside) return false;
      inside = false;
      for (const name of names) this.#count(name, -1);
      return true;
    };
  }

  #take(receiver: Receiver): HostSlot {
    const proven = this.#records.isProven(receiver);
    const [began_down, beganMs] = [this.#records.isDown(receiver), this.#clock.monotonicMs()];
    this.#records.begin(receiver);
    const leaveReceiver = this.#enter([keyOf(receiver), untilAnswered(receiver)[0]]);
    const leaveAll = this.#enter(untilWritten(receiver, proven).map(([name]) => name));
    return {
      answered: (result) => {
        leaveReceiver();
        const answered_since = this.#records.hasAnsweredSince(receiver, beganMs);
        const wasDown = this.#records.isDown(receiver);
        const pause = this.#records.learn(receiver, result);
        if (wasDown && !this.#records.isDown(receiver)) this.#recovered.set(keyOf(receiver), receiver);
        return { pause, began_down, answered_since };
      },
      release: () => {
        // a probe that was not made
        if (leaveReceiver()) this.#records.endPause(receiver);
        leaveAll();
      },
    };
  }
}
