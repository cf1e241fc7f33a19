import type { ParamsOf } from "../../shared/bus/bus.ts";
import type { NumberRecord } from "../../shared/contracts/numbers.ts";
import type { Static } from "../../shared/contracts/define.ts";
import { countryOf, givenNumber, soughtNumber } from "../../shared/phone.ts";
import type { DatabaseTime } from "../../shared/database/database-clock.ts";
import { hasNoFreeSlot, hasFreeSlot } from "./rules/slot-leases.ts";
import type { NumberDoc } from "./numbers.model.ts";
import type { Owner } from "./ownership.ts";

type NumberView = Static<typeof NumberRecord>;

const DEFAULT_CHANNEL = "voice";
const DEFAULT_SLOTS = 1;
const NEVER = new Date(0);

/** A new number, free and never used. INVALID_PHONE_NUMBER. */
export function newNumber(id: string, asked: ParamsOf<"numbers.create">, owner: Owner, now: Date): NumberDoc {
  const phone_number = givenNumber(asked.phone_number, "phone_number");
  return {
    _id: id,
    phone_number,
    provider: asked.provider,
    status: asked.status === "DISABLED" ? "DISABLED" : "AVAILABLE",
    channel: asked.channel ?? DEFAULT_CHANNEL,
    max_concurrent_calls: asked.max_concurrent_calls ?? DEFAULT_SLOTS,
    reseller_id: owner.reseller_id,
    merchant_id: owner.merchant_id,
    inbound_template_id: asked.inbound_template_id?.toLowerCase() ?? null,
    country: countryOf(phone_number),
    slots: [],
    removed: null,
    used_at: NEVER,
    created_at: now,
    updated_at: now,
  };
}

/** The status that is shown: IN_USE while every slot is reserved. */
export function statusOf(
  d: Pick<NumberDoc, "status" | "slots" | "max_concurrent_calls">,
  now: Date,
): NumberView["status"] {
  if (d.status === "DISABLED") return "DISABLED";
  return d.slots.filter((s) => s.until > now).length >= d.max_concurrent_calls ? "IN_USE" : "AVAILABLE";
}

/** The filters of a list of numbers. */
export type NumberFilter = Pick<
  ParamsOf<"numbers.list">,
  "provider" | "status" | "phone_number" | "reseller_id" | "merchant_id"
>;

/** The filters of a list as a filter of the database. INVALID_PHONE_NUMBER. */
export function filterOf({ phone_number, status, ...same }: NumberFilter, at: DatabaseTime): Record<string, unknown> {
  const sought = phone_number === undefined ? undefined : soughtNumber(phone_number, "phone_number");
  return { ...same, ...withStatus(status, at), ...(sought === undefined ? {} : { phone_number: sought }) };
}

/** Filter of the numbers that show this status. */
const withStatus = (status: NumberView["status"] | undefined, at: DatabaseTime): Record<string, unknown> => {
  if (status === undefined) return {};
  if (status === "DISABLED") return { status };
  return { status: "AVAILABLE", ...(status === "IN_USE" ? hasNoFreeSlot(at) : hasFreeSlot(at)) };
};

/** A number as the API shows it. */
export const toRecord = (d: NumberDoc, now: Date): NumberView => ({
  id: d._id,
  phone_number: d.phone_number,
  provider: d.provider,
  status: statusOf(d, now),
  channel: d.channel,
  max_concurrent_calls: d.max_concurrent_calls,
  reseller_id: d.reseller_id,
  merchant_id: d.merchant_id,
  inbound_template_id: d.inbound_template_id ?? null,
  created_at: d.created_at.toISOString(),
  updated_at: d.updated_at.toISOString(),
});
