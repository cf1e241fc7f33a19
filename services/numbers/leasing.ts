import type { Bus, ParamsOf, ResultOf } from "../../shared/bus.ts";
import { countryOf } from "../../shared/phone.ts";
import type { NumberLines } from "./number-lines.repository.ts";

type Lines = ResultOf<"numbers.reserveMany">["lines"];

/** Lines for many wants of one scope, in order; null where none is free. */
export async function reserveMany(repository: NumberLines, { wants, lease_seconds, same_country, ...party }: ParamsOf<"numbers.reserveMany">): Promise<Lines> {
  const lines = await repository.reserve(party, wants.map(({ to, holder }) => ({ holder, country: countryOf(to) })), { lease_seconds, same_country });
  return wants.map(({ holder }) => {
    const line = lines.get(holder);
    return line ? { id: line._id, phone_number: line.phone_number, provider: line.provider } : null;
  });
}

/** Gives lines back and tells every replica that waits for one. */
export async function releaseMany(repository: NumberLines, bus: Pick<Bus, "broadcast">, holders: readonly string[]): Promise<void> {
  if (holders.length === 0) return;
  for (const provider of new Set((await repository.release(holders)).map((n) => n.provider))) bus.broadcast("numbers.freed", { provider });
}
