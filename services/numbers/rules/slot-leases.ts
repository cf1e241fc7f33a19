import type { PipelineStage } from "mongoose";
import { fieldsByClock, NOW, whereByClock, type DatabaseTime } from "../../../shared/database/database-clock.ts";
import type { Provider } from "../../../shared/contracts/records/configuration.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";

/*
 * Slots of numbers as filters and updates, one document each. Leases are judged by the database's own clock, where that
 * shows the deployment's time (`at`); every value from outside stands in a $literal, so that none is read as an expression.
 */

/** A guarded update of numbers: what must hold, and what they become. */
export interface SlotUpdate {
  filter: Record<string, unknown>;
  update: PipelineStage.Set[];
}

/** A release of slots: no guard beyond the holders' names, so a late release can't free another call's slot. */
export interface SlotRelease {
  filter: Record<string, unknown>;
  update: Record<string, unknown>;
}

/** Whose calls want slots: the scope decides which numbers may be used. */
export interface Party {
  reseller_id: string;
  merchant_id: string | null;
  provider: Provider;
}

const NAME_SEPARATOR = "~";
const LIVE = { $filter: { input: "$slots", as: "slot", cond: { $gt: ["$$slot.until", NOW] } } };
/** How many slots of a number are free; below zero where their number was lowered during calls. */
const FREE = { $subtract: ["$max_concurrent_calls", { $size: LIVE }] };
const ends = (lease_seconds: number): Record<string, unknown> => ({
  $add: [NOW, { $literal: lease_seconds * MS_PER_SECOND }],
});

/** Fields of a projection or $set stage: how many slots of a number are free, none where their number was lowered during calls. */
export const freeSlots = (at: DatabaseTime) => fieldsByClock({ free: { $max: [FREE, 0] } }, at);

/** Holds for numbers with a free slot. */
export const hasFreeSlot = (at: DatabaseTime) => whereByClock({ $gt: [FREE, 0] }, at);

/** Holds for numbers none of whose slots is reserved. */
export const isIdle = (at: DatabaseTime) => whereByClock({ $eq: [{ $size: LIVE }, 0] }, at);

/** Holds for numbers all of whose slots are reserved. */
export const hasNoFreeSlot = (at: DatabaseTime) => whereByClock({ $lte: [FREE, 0] }, at);

/** Holds for numbers that calls come and go over; other channels are of other services. However `voice` was written before this was asked. */
export const IS_FOR_CALLS = { channel: { $in: ["voice", "VOICE", "Voice"] } } as const;

/** Filters of the numbers a party may use at all, in order of preference: its merchant's own, its reseller's, the shared pool. */
export const usableBy = ({ reseller_id, merchant_id, provider }: Party): Record<string, unknown>[] =>
  [
    ...(merchant_id === null ? [] : [{ reseller_id, merchant_id }]),
    { reseller_id, merchant_id: null },
    { reseller_id: null, merchant_id: null },
  ].map((owner) => ({ provider, status: "AVAILABLE", ...IS_FOR_CALLS, ...owner }));

/** The same numbers as one filter; a number of a merchant always has a reseller. */
export const usableAtAllBy = ({ reseller_id, merchant_id, provider }: Party): Record<string, unknown> => ({
  provider,
  status: "AVAILABLE",
  ...IS_FOR_CALLS,
  reseller_id: { $in: [reseller_id, null] },
  merchant_id: { $in: [merchant_id, null] },
});

/** The name a holder acts in: `<name>~<replica>` acts for `<name>`. */
export const nameOf = (holder: string): string => holder.split(NAME_SEPARATOR, 1)[0] ?? holder;

/**
 * Reserves a slot of this number, while its owner and provider are still those of `usable`, for as many of these holders as it has free, the first
 * ones first; removes slots whose lease has ended.
 */
export const reserveSlots = (
  usable: Record<string, unknown>,
  id: string,
  holders: readonly string[],
  lease_seconds: number,
  at: DatabaseTime,
): SlotUpdate => {
  const entering = { $slice: [{ $literal: holders.map((holder) => ({ holder, name: nameOf(holder) })) }, FREE] };
  const reserved = {
    $map: {
      input: entering,
      as: "one",
      in: { holder: "$$one.holder", name: "$$one.name", until: ends(lease_seconds) },
    },
  };
  return {
    // a holder has one slot: a number where one of them has one reserves none
    filter: { ...usable, _id: id, ...hasFreeSlot(at), "slots.holder": { $nin: [...holders] } },
    update: [{ $set: fieldsByClock({ slots: { $concatArrays: [LIVE, reserved] }, used_at: NOW }, at) }],
  };
};

/**
 * Renews the leases of the slots that these holders have, or that were reserved in these names, to at least this long from now.
 * Slots whose lease has ended are removed instead, so the numbers must be read again to see which holder has one.
 */
export const renewLease = (
  by: "holder" | "name",
  those: readonly string[],
  lease_seconds: number,
  at: DatabaseTime,
): SlotUpdate => {
  const isTheirs = { $in: [`$$slot.${by}`, { $literal: [...those] }] };
  const longer = {
    holder: "$$slot.holder",
    name: "$$slot.name",
    until: { $max: ["$$slot.until", ends(lease_seconds)] },
  };
  return {
    filter: { [`slots.${by}`]: { $in: [...those] } },
    update: [
      {
        $set: fieldsByClock(
          { slots: { $map: { input: LIVE, as: "slot", in: { $cond: [isTheirs, longer, "$$slot"] } } } },
          at,
        ),
      },
    ],
  };
};

/** Releases the slots of these holders and those reserved in their names. A holder that acts in a name (`<name>~<replica>`) releases its own only. */
export function releaseSlots(holders: readonly string[]): SlotRelease[] {
  const own = holders.filter((h) => h.includes(NAME_SEPARATOR));
  const named = holders.filter((h) => !h.includes(NAME_SEPARATOR));
  return [
    ...(own.length === 0
      ? []
      : [{ filter: { "slots.holder": { $in: own } }, update: { $pull: { slots: { holder: { $in: own } } } } }]),
    ...(named.length === 0
      ? []
      : [{ filter: { "slots.name": { $in: named } }, update: { $pull: { slots: { name: { $in: named } } } } }]),
  ];
}
