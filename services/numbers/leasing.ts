import type { Bus, ParamsOf, ResultOf } from "../../shared/bus.ts";
import { joining } from "../../shared/joining.ts";
import { countryOf } from "../../shared/phone.ts";
import type { NumberLines } from "./number-lines.repository.ts";

type Lines = ResultOf<"numbers.reserveMany">["lines"];

/** Most holders freed by one joined write. */
const RELEASED_AT_ONCE = 500;

/** Lines for many wants of one scope, in order; null where none is free. */
export async function reserveMany(numbers: NumberLines, { wants, lease_seconds, same_country, ...party }: ParamsOf<"numbers.reserveMany">): Promise<Lines> {
  const lines = await numbers.reserve(party, wants.map(({ to, holder }) => ({ holder, country: countryOf(to) })), { lease_seconds, same_country });
  return wants.map(({ holder }) => {
    const line = lines.get(holder);
    return line ? { id: line._id, phone_number: line.phone_number, provider: line.provider } : null;
  });
}

/** Gives lines back and tells every replica that waits for one; releases of one moment are joined into one write. */
export function releases(numbers: NumberLines, bus: Pick<Bus, "broadcast">): { one(holder: string): Promise<void>; many(holders: readonly string[]): Promise<void> } {
  const many = async (holders: readonly string[]): Promise<void> => {
    if (holders.length === 0) return;
    for (const provider of new Set((await numbers.release(holders)).map((n) => n.provider))) bus.broadcast("numbers.freed", { provider });
  };
  const joined = joining(async (holders: string[]) => { await many(holders); return holders; }, RELEASED_AT_ONCE);
  return { one: async (holder) => { await joined(holder); }, many };
}
