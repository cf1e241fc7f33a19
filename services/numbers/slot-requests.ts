import type { Bus, ParamsOf, ResultOf } from "../../shared/bus/bus.ts";
import { countryOf } from "../../shared/phone.ts";
import type { NumberSlots } from "./number-slots.repository.ts";

/** Slots for many wants of one party, in order; null where none is free. */
export async function reserveMany(
  slots: Pick<NumberSlots, "reserve">,
  { wants, lease_seconds, same_country, ...party }: ParamsOf<"numbers.reserveMany">,
): Promise<ResultOf<"numbers.reserveMany">["lines"]> {
  const asked = wants.map(({ to, holder }) => ({ holder, country: countryOf(to) }));
  const reserved = await slots.reserve(party, asked, { lease_seconds, same_country });
  return wants.map(({ holder }) => {
    const number = reserved.get(holder);
    return number ? { id: number._id, phone_number: number.phone_number, provider: number.provider } : null;
  });
}

/** Renews leases of slots, those of one length in one request; in order, whether each slot was still held. */
export async function renewMany(
  slots: Pick<NumberSlots, "renewLease">,
  leases: ParamsOf<"numbers.keepMany">["lines"],
): Promise<boolean[]> {
  const renewed = new Map<number, Set<string>>();
  const renew = async ([seconds, of]: [number, typeof leases]): Promise<void> => {
    const holders = of.map(({ holder }) => holder);
    renewed.set(seconds, await slots.renewLease(holders, seconds));
  };
  await Promise.all([...Map.groupBy(leases, (lease) => lease.lease_seconds)].map(renew));
  return leases.map(({ holder, lease_seconds }) => renewed.get(lease_seconds)?.has(holder) === true);
}

/** Releases slots and announces it to every replica that waits for one. */
export async function releaseMany(
  slots: Pick<NumberSlots, "release">,
  bus: Pick<Bus, "broadcast">,
  holders: readonly string[],
): Promise<void> {
  if (holders.length === 0) return;
  for (const provider of new Set((await slots.release(holders)).map((n) => n.provider)))
    bus.broadcast("numbers.freed", { provider });
}
