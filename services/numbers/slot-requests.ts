import type { Bus, ParamsOf, ResultOf } from "../../shared/bus.ts";
import { countryOf } from "../../shared/phone.ts";
import type { NumberLines } from "./number-slots.repository.ts";

type Lines = ResultOf<"numbers.reserveMany">["lines"];

/** Lines for many wants of one scope, in order; null where none is free. */
export async function reserveMany(
  repository: NumberLines,
  { wants, lease_seconds, same_country, ...party }: ParamsOf<"numbers.reserveMany">,
): Promise<Lines> {
  const lines = await repository.reserve(
    party,
    wants.map(({ to, holder }) => ({ holder, country: countryOf(to) })),
    { lease_seconds, same_country },
  );
  return wants.map(({ holder }) => {
    const line = lines.get(holder);
    return line ? { id: line._id, phone_number: line.phone_number, provider: line.provider } : null;
  });
}

/** Prolongs lines, those with one length of lease in one go; in order, whether each still stood. */
export async function keepMany(
  repository: NumberLines,
  lines: ParamsOf<"numbers.keepMany">["lines"],
): Promise<boolean[]> {
  const alike = [...Map.groupBy(lines, (line) => line.lease_seconds)];
  const kept = new Map(
    await Promise.all(
      alike.map(async ([seconds, of]): Promise<[number, Set<string>]> => [
        seconds,
        await repository.keep(
          of.map((line) => line.holder),
          seconds,
        ),
      ]),
    ),
  );
  return lines.map(({ holder, lease_seconds }) => kept.get(lease_seconds)?.has(holder) === true);
}

/** Gives lines back and tells every replica that waits for one. */
export async function releaseMany(
  repository: NumberLines,
  bus: Pick<Bus, "broadcast">,
  holders: readonly string[],
): Promise<void> {
  if (holders.length === 0) return;
  for (const provider of new Set((await repository.release(holders)).map((n) => n.provider)))
    bus.broadcast("numbers.freed", { provider });
}
