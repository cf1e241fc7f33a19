import { MAX_SPEND_ROOM, type SpendReached, type SpendRoom } from "../../../shared/contracts/records/spend.ts";
import { limitsMoney, worstCase, type SpendOwner } from "./spend-amounts.ts";
import {
  emptyLedger,
  reachedBy,
  roomFor,
  rolled,
  type Amounts,
  type Ledger,
  type Reached,
} from "./spend-reservations.ts";

/** A reached ceiling as people are told of it. Pure. */
export const saidOf = (reached: Reached, whose: SpendOwner["whose"]): SpendReached => ({
  whose,
  period: reached.period,
  what: reached.what === "micros" ? "money" : reached.what,
  until: reached.until?.toISOString() ?? null,
});

/** The same of a ceiling that limits money, for a leg without a price. Pure. */
export const unpricedFor = ({ whose }: SpendOwner): SpendReached => ({
  whose,
  period: null,
  what: "price",
  until: null,
});

/** The worst case of a leg for one owner; null: its ceiling limits money, and the leg has no price. Pure. */
export const worstFor = ({ ceiling }: SpendOwner, seconds: number, price: number | null): Amounts | null =>
  price === null && limitsMoney(ceiling) ? null : worstCase(seconds, price ?? 0);

/** Legs of one kind: how long each lasts at most, and the price of a minute in millionths. */
export interface LegKind {
  seconds: number;
  price: number | null;
}

/** How many more such legs fit under each ceiling, and why none does. A ledger that is not there is empty. Pure. */
export function roomIn(
  owners: readonly SpendOwner[],
  ledgers: ReadonlyMap<string, Ledger>,
  { seconds, price }: LegKind,
  now: Date,
): SpendRoom {
  const room: SpendRoom["room"] = {};
  let reached: SpendReached | null = null;
  for (const owner of owners) {
    const ledger = rolled(ledgers.get(owner.id) ?? emptyLedger(now), now);
    const worst = worstFor(owner, seconds, price);
    const why = worst && reachedBy(ledger, owner.ceiling, worst);
    room[owner.whose] = worst ? roomFor(ledger, owner.ceiling, worst, MAX_SPEND_ROOM) : 0;
    if (!worst) reached ??= unpricedFor(owner);
    else if (why) reached ??= saidOf(why, owner.whose);
  }
  return { room, reached };
}
