import type { PipelineStage } from "mongoose";
import type { Provider } from "../../shared/contracts/configuration.ts";

/*
 * Lines of numbers as filters and updates, one document each (reliability.md 3.6). Judged by the database's own clock ($$NOW), so that the
 * clocks of the services don't matter; every value from outside stands in a $literal, so that none is read as an expression.
 */

/** A guarded change of numbers: what must hold, and what becomes of them. */
export interface LeaseMove {
  filter: Record<string, unknown>;
  update: PipelineStage.Set[];
}

/** Lines given back: no guard beyond the holders' names, so a late release can't free another call's line. */
export interface LinesFreed {
  filter: Record<string, unknown>;
  update: Record<string, unknown>;
}

/** Whose calls want lines: the scope decides which numbers may be used. */
export interface Party {
  reseller_id: string;
  merchant_id: string | null;
  provider: Provider;
}

const MS_PER_SECOND = 1000;
const IN_NAME_MARK = "~";
const LIVE = { $filter: { input: "$slots", as: "slot", cond: { $gt: ["$$slot.until", "$$NOW"] } } };
const ROOM = { $subtract: ["$max_concurrent_calls", { $size: LIVE }] };
const ends = (lease_seconds: number): Record<string, unknown> => ({
  $add: ["$$NOW", { $literal: lease_seconds * MS_PER_SECOND }],
});

/** Expression: how many lines of a number are free; below zero where its lines were cut during calls. */
export const FREE_LINES = ROOM;

/** Holds for numbers with a free line. */
export const HAS_ROOM = { $expr: { $gt: [ROOM, 0] } } as const;

/** Holds for numbers none of whose lines is taken. */
export const IS_IDLE = { $expr: { $eq: [{ $size: LIVE }, 0] } } as const;

/** Holds for numbers all of whose lines are taken. */
export const HAS_NO_ROOM = { $expr: { $lte: [ROOM, 0] } } as const;

/** Filters of the numbers a party may use at all, in order of preference: its merchant's own, its reseller's, the shared pool. */
export const usableBy = ({ reseller_id, merchant_id, provider }: Party): Record<string, unknown>[] =>
  [
    ...(merchant_id === null ? [] : [{ reseller_id, merchant_id }]),
    { reseller_id, merchant_id: null },
    { reseller_id: null, merchant_id: null },
  ].map((owner) => ({ provider, status: "AVAILABLE", ...owner }));

/** The same numbers as one filter; a number of a merchant always has a reseller. */
export const usableAtAllBy = ({ reseller_id, merchant_id, provider }: Party): Record<string, unknown> => ({
  provider,
  status: "AVAILABLE",
  reseller_id: { $in: [reseller_id, null] },
  merchant_id: { $in: [merchant_id, null] },
});

/** In whose name a holder has its line: `<name>~<who>` stands for `<name>`. */
export const nameOf = (holder: string): string => holder.split(IN_NAME_MARK, 1)[0] ?? holder;

/** Gives as many of these holders a line of this number as it has free, the first ones first; forgets lines whose time is over. */
export const take = (id: string, holders: readonly string[], lease_seconds: number): LeaseMove => {
  const entering = { $slice: [{ $literal: holders.map((holder) => ({ holder, name: nameOf(holder) })) }, ROOM] };
  const lines = {
    $map: {
      input: entering,
      as: "one",
      in: { holder: "$$one.holder", name: "$$one.name", until: ends(lease_seconds) },
    },
  };
  return {
    // a holder has one line: a number where one of them stands already takes none of them
    filter: { _id: id, status: "AVAILABLE", ...HAS_ROOM, "slots.holder": { $nin: [...holders] } },
    update: [{ $set: { slots: { $concatArrays: [LIVE, lines] }, used_at: "$$NOW" } }],
  };
};

/**
 * Keeps the lines that these holders have, or that were taken in these names, for at least this long from now. Lines whose time is over are forgotten
 * instead, so the numbers must be read again to see who has one.
 */
export const keep = (by: "holder" | "name", those: readonly string[], lease_seconds: number): LeaseMove => {
  const isTheirs = { $in: [`$$slot.${by}`, { $literal: [...those] }] };
  const longer = {
    holder: "$$slot.holder",
    name: "$$slot.name",
    until: { $max: ["$$slot.until", ends(lease_seconds)] },
  };
  return {
    filter: { [`slots.${by}`]: { $in: [...those] } },
    update: [{ $set: { slots: { $map: { input: LIVE, as: "slot", in: { $cond: [isTheirs, longer, "$$slot"] } } } } }],
  };
};

/** Frees the lines of these holders and those taken in their names. A holder that acts in another's name (`<name>~<who>`) frees its own only. */
export function letGo(holders: readonly string[]): LinesFreed[] {
  const own = holders.filter((h) => h.includes(IN_NAME_MARK));
  const named = holders.filter((h) => !h.includes(IN_NAME_MARK));
  return [
    ...(own.length === 0
      ? []
      : [{ filter: { "slots.holder": { $in: own } }, update: { $pull: { slots: { holder: { $in: own } } } } }]),
    ...(named.length === 0
      ? []
      : [{ filter: { "slots.name": { $in: named } }, update: { $pull: { slots: { name: { $in: named } } } } }]),
  ];
}
