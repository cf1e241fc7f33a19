import type { PipelineStage } from "mongoose";
import type { Provider } from "../../shared/contracts/configuration.ts";

/*
 * Lines of numbers as filters and updates, one document each (reliability.md 3.6). Judged by the database's own clock ($$NOW), so that the
 * clocks of the services don't matter; every value from outside stands in a $literal, so that none is read as an expression.
 */

/** A guarded change of one number: what must hold, and what becomes of it. */
export interface LeaseMove { filter: Record<string, unknown>; update: PipelineStage.Set[] }

/** A line given back: no guard beyond the holder's name, so a late release can't free another call's line. */
export interface LineFreed { filter: Record<string, unknown>; update: Record<string, unknown> }

/** Who wants a line: the scope decides which numbers may be used, `country` which are preferred. */
export interface Wanted { reseller_id: string; merchant_id: string | null; provider: Provider; country: string | null }

const MS_PER_SECOND = 1000;
const LIVE = { $filter: { input: "$slots", as: "slot", cond: { $gt: ["$$slot.until", "$$NOW"] } } };
const ends = (lease_seconds: number): Record<string, unknown> => ({ $add: ["$$NOW", { $literal: lease_seconds * MS_PER_SECOND }] });

/** Holds for numbers with a free line. */
export const HAS_ROOM = { $expr: { $lt: [{ $size: LIVE }, "$max_concurrent_calls"] } } as const;

/** Holds for numbers none of whose lines is taken. */
export const IS_IDLE = { $expr: { $eq: [{ $size: LIVE }, 0] } } as const;

/** Holds for numbers all of whose lines are taken. */
export const HAS_NO_ROOM = { $expr: { $gte: [{ $size: LIVE }, "$max_concurrent_calls"] } } as const;

/** Numbers a wanting party may use at all, in order of preference: its merchant's own, its reseller's, the shared pool. */
export const scopesOf = (wanted: { reseller_id: string; merchant_id: string | null }): { reseller_id: string | null; merchant_id: string | null }[] => [
  ...(wanted.merchant_id === null ? [] : [{ reseller_id: wanted.reseller_id, merchant_id: wanted.merchant_id }]),
  { reseller_id: wanted.reseller_id, merchant_id: null },
  { reseller_id: null, merchant_id: null },
];

/** A holder has one line: a number where it stands already is none for it. */
const notOf = (holder: string): Record<string, unknown> => ({ "slots.holder": { $ne: holder } });

/** Filters of numbers with a free line, the most wanted first; within one the least recently used comes first. The scope outweighs the country. */
export const preferences = (wanted: Wanted, holder: string): Record<string, unknown>[] => scopesOf(wanted).flatMap((scope) => {
  const usable = { provider: wanted.provider, status: "AVAILABLE", ...scope, ...HAS_ROOM, ...notOf(holder) };
  return wanted.country === null ? [usable] : [{ ...usable, country: wanted.country }, { ...usable, country: { $ne: wanted.country } }];
});

/** Takes a line of this number, if one is still free; forgets lines whose time is over. */
export const take = (id: string, holder: string, lease_seconds: number): LeaseMove => ({
  filter: { _id: id, status: "AVAILABLE", ...HAS_ROOM, ...notOf(holder) },
  update: [{ $set: { slots: { $concatArrays: [LIVE, [{ holder: { $literal: holder }, until: ends(lease_seconds) }]] }, used_at: "$$NOW" } }],
});

/**
 * Keeps the line the holder has, for at least this long from now. A line whose time is over is forgotten instead, so the number that comes back
 * must be asked with `holds`.
 */
export const keep = (holder: string, lease_seconds: number): LeaseMove => {
  const isHis = { $eq: ["$$slot.holder", { $literal: holder }] };
  const longer = { holder: "$$slot.holder", until: { $max: ["$$slot.until", ends(lease_seconds)] } };
  return {
    filter: { "slots.holder": holder },
    update: [{ $set: { slots: { $map: { input: LIVE, as: "slot", in: { $cond: [isHis, longer, "$$slot"] } } } } }],
  };
};

/** Frees a line of this holder on one number. */
export const letGo = (holder: string): LineFreed => ({ filter: { "slots.holder": holder }, update: { $pull: { slots: { holder } } } });

/** Frees lines taken in this holder's name, as `<holder>~<who>`, on one number. */
export const letGoInName = (holder: string): LineFreed => {
  const named = { holder: { $gte: `${holder}~`, $lt: `${holder}~\uffff` } };
  return { filter: { slots: { $elemMatch: named } }, update: { $pull: { slots: named } } };
};

/** True when the number carries a line of this holder. */
export const holds = (number: { slots: readonly { holder: string }[] }, holder: string): boolean => number.slots.some((s) => s.holder === holder);

/**
 * The order in which candidates are tried: the least recently used first, the others by chance, so that many who want a line at once don't
 * all run after the same numbers. `random` gives numbers in [0, 1).
 */
export function tryOrder<T>(candidates: readonly T[], random: () => number): T[] {
  const [first, ...rest] = candidates;
  if (first === undefined) return [];
  const drawn = rest.map((candidate) => ({ candidate, lot: random() })).sort((a, b) => a.lot - b.lot);
  return [first, ...drawn.map((d) => d.candidate)];
}
