import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { startLoop, type Loop } from "../../../shared/time/loop.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import type { DeliveryQueue, DueDelivery } from "./delivery-queue.ts";
import type { HostSlots } from "../hosts/host-slots.ts";
import { keyOf, type Receiver } from "../rules/receiver.ts";
import { LEASE_MS, type DeliverySender } from "./delivery-sender.ts";

/** Between two scans for receivers that have deliveries due: retries, and what other processes left behind. */
const SCAN_INTERVAL_MS = 1000;
/** Reads of one scan; the next pass goes on where this one stopped. */
const MAX_SCANS = 25;
/** Receivers whose deliveries are read at once. */
const RECEIVERS_AT_ONCE = 20;
/** A delivery that has been due this long without a try, as its receiver is unwell and others come first, is given up: longer than all its tries would take. */
export const GIVE_UP_MS = 7 * 86_400_000;
const GIVE_UP_EVERY_MS = 60_000;

/** What the pass needs. */
export interface PassDeps extends Pick<ServiceDeps, "clock" | "ids" | "log"> {
  deliveries: Pick<DeliveryQueue, "receiversDue" | "dueOf" | "take" | "giveUp" | "release">;
  /** Those that may be sent now; what becomes of the others is written down. Absent: all. */
  admit?(due: readonly DueDelivery[]): Promise<readonly DueDelivery[]>;
  hosts: HostSlots;
  sender: DeliverySender;
}

/**
 * The pass of the delivery loop: takes due deliveries and begins to send them. It scans for receivers first, then reads each for as many deliveries as it has
 * slots: a receiver that has none costs one key of the index, whatever it has due.
 */
export class DeliveryPass {
  readonly #deps: PassDeps;
  #from: Receiver | null = null;
  #scanAt = -Infinity;
  #giveUpAt = -Infinity;
  /** Nothing was released yet: what the process before knew of receivers died with it. */
  #isFirst = true;

  constructor(deps: PassDeps) {
    this.#deps = deps;
  }

  /** One pass; true: there is more to be taken. */
  async run(): Promise<boolean> {
    await this.#giveUpOld();
    await this.#releaseWaiting();
    const more = await this.#scanReceivers();
    await this.#takeNext();
    return more || this.#deps.hosts.anyNext();
  }

  /** Has sent what waits by its own plan for a receiver that was down: at the start of the process for all, as nobody knows which were, then for each that is well again. */
  async #releaseWaiting(): Promise<void> {
    const { clock, deliveries, hosts } = this.#deps;
    if (this.#isFirst) await deliveries.release(null, clock.now());
    this.#isFirst = false;
    for (const receiver of hosts.recovered()) {
      await deliveries.release(receiver, clock.now());
      hosts.released(receiver);
    }
  }

  /** Finds the receivers that have deliveries due; true: there may be more. */
  async #scanReceivers(): Promise<boolean> {
    const { clock, deliveries, hosts } = this.#deps;
    if (clock.monotonicMs() < this.#scanAt) return false;
    for (let i = 0; i < MAX_SCANS; i++) {
      const found = await deliveries.receiversDue(this.#from, clock.now());
      for (const receiver of found.receivers) hosts.enqueue(receiver);
      this.#from = found.next;
      if (this.#from === null) {
        this.#scanAt = clock.monotonicMs() + SCAN_INTERVAL_MS;
        return false;
      }
    }
    return true;
  }

  async #takeNext(): Promise<void> {
    const { clock, deliveries, hosts, ids, sender } = this.#deps;
    const next = hosts.next(RECEIVERS_AT_ONCE);
    if (next.length === 0) return;
    const slots = new Map(next.map((one) => [keyOf(one.receiver), one.slots]));
    try {
      const due = await Promise.all(
        next.map(async ({ receiver, slots: { length } }) => {
          const found = await deliveries.dueOf(receiver, clock.now(), length);
          if (found.length === length) hosts.enqueue(receiver);
          return found;
        }),
      );
      const admitted = (await this.#deps.admit?.(due.flat())) ?? due.flat();
      const taken = await deliveries.take(admitted, plusMs(clock.now(), LEASE_MS), ids.uuid());
      for (const delivery of taken) {
        const slot = slots.get(keyOf(delivery))?.pop();
        if (slot) sender.begin(delivery, slot);
      }
    } catch (error) {
      for (const { receiver } of next) hosts.enqueue(receiver);
      throw error;
    } finally {
      for (const slot of [...slots.values()].flat()) slot.release();
    }
  }

  async #giveUpOld(): Promise<void> {
    const { clock, deliveries, log } = this.#deps;
    if (clock.monotonicMs() < this.#giveUpAt) return;
    this.#giveUpAt = clock.monotonicMs() + GIVE_UP_EVERY_MS;
    const now = clock.now();
    const count = await deliveries.giveUp(plusMs(now, -GIVE_UP_MS), now);
    if (count > 0)
      log.warn(
        { event: "webhook.given_up", deliveries: count },
        "webhook events could not be tried for days, as their receivers are unwell; they are listed as exhausted",
      );
  }
}

const LOOP_MS = 1000;

/** Starts a loop of passes. While the process does not know the deployment's time, nothing is sent. */
export function startPasses(
  { clock, log, storeClock }: Pick<ServiceDeps, "clock" | "log" | "storeClock">,
  name: string,
  pass: Pick<DeliveryPass, "run">,
): Loop {
  const onError = (error: unknown): void =>
    log.error(
      { event: "loop.failed", loop: name, ...errorForLog(error) },
      "a delivery pass failed; it goes on at the next interval",
    );
  const run = (): Promise<boolean> => (storeClock.known() ? pass.run() : Promise.resolve(false));
  return startLoop({ name, clock, intervalMs: LOOP_MS, pass: run, onError });
}
