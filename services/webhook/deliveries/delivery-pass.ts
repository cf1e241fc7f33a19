import type { ServiceDeps } from "../../../shared/bus.ts";
import { plusMs } from "../../../shared/clock.ts";
import type { DeliveriesRepository } from "./deliveries.repository.ts";
import type { HostSlots } from "../hosts/host-slots.ts";
import { LEASE_MS, type DeliverySender } from "./delivery-sender.ts";

/** How often the database is asked which hosts have deliveries due: retries, and what other processes left behind. */
const SCAN_INTERVAL_MS = 1000;
/** Looks for hosts in one pass; the next pass goes on where this one stopped. */
const MAX_SCANS = 25;
/** Hosts whose deliveries are read side by side. */
const HOSTS_AT_ONCE = 20;
/** A delivery that has been due this long without a try, as its host is unwell and others come first, is given up: longer than all its tries would take. */
export const GIVE_UP_MS = 7 * 86_400_000;
const GIVE_UP_EVERY_MS = 60_000;

/** One pass of the delivering loop: takes due deliveries and begins to send them. True: there is more to be taken. */
export type DeliveryPass = () => Promise<boolean>;

/**
 * Makes the pass. Hosts are looked for by themselves, then read one by one, each for as many deliveries as it has places:
 * a host that has none costs a look over its name, whatever it has due.
 */
export function deliveryPass(
  deps: ServiceDeps,
  deliveries: DeliveriesRepository,
  hosts: HostSlots,
  work: DeliverySender,
): DeliveryPass {
  const { clock } = deps;
  let from: string | null = null;
  let [lookAt, giveUpAt] = [-Infinity, -Infinity];

  /** Finds out which hosts have deliveries due; true: there may be more hosts. */
  async function look(): Promise<boolean> {
    if (clock.monotonicMs() < lookAt) return false;
    for (let i = 0; i < MAX_SCANS; i++) {
      const found = await deliveries.hostsDue(from, clock.now());
      for (const host of found.hosts) hosts.enqueue(host);
      from = found.next;
      if (from === null) {
        lookAt = clock.monotonicMs() + SCAN_INTERVAL_MS;
        return false;
      }
    }
    return true;
  }

  async function takeNext(): Promise<void> {
    const next = hosts.next(HOSTS_AT_ONCE);
    if (next.length === 0) return;
    const places = new Map(next.map((n) => [n.host, n.places]));
    try {
      const due = await Promise.all(
        next.map(async ({ host, places: { length } }) => {
          const found = await deliveries.dueOf(host, clock.now(), length);
          if (found.length === length) hosts.enqueue(host);
          return found;
        }),
      );
      const taken = await deliveries.take(due.flat(), plusMs(clock.now(), LEASE_MS), deps.ids.uuid());
      for (const d of taken) {
        const place = places.get(d.host)?.pop();
        if (place) work.begin(d, place);
      }
    } catch (error) {
      for (const host of places.keys()) hosts.enqueue(host);
      throw error;
    } finally {
      for (const place of [...places.values()].flat()) place.release();
    }
  }

  async function giveUpOld(): Promise<void> {
    if (clock.monotonicMs() < giveUpAt) return;
    giveUpAt = clock.monotonicMs() + GIVE_UP_EVERY_MS;
    const now = clock.now();
    const given = await deliveries.giveUp(plusMs(now, -GIVE_UP_MS), now);
    if (given > 0)
      deps.log.warn(
        { event: "webhook.given_up", deliveries: given },
        "reports could not be tried for days, as their hosts are unwell; they are listed as exhausted",
      );
  }

  return async () => {
    await giveUpOld();
    const more = await look();
    await takeNext();
    return more || hosts.anyNext();
  };
}
