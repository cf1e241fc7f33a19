import { objectEvent, type ObjectEvent } from "../../shared/database/object-outbox.ts";
import { maskPhone } from "../../shared/process/log.ts";
import type { NumberDoc } from "./numbers.model.ts";

/** What of a number its events tell. */
type Told = Pick<NumberDoc, "_id" | "phone_number" | "provider" | "status" | "reseller_id" | "merchant_id">;

/** What a client changes of a number. */
const CHANGEABLE = [
  "provider",
  "status",
  "channel",
  "max_concurrent_calls",
  "reseller_id",
  "merchant_id",
  "inbound_template_id",
] as const satisfies readonly (keyof NumberDoc)[];
/** What may be changed of a number. */
export type NumberSettings = Pick<NumberDoc, (typeof CHANGEABLE)[number]>;

const numberEvent = (
  at: Date,
  number: Told,
  change: "created" | "updated" | "withdrawn" | "allotted" | "removed",
  fields: readonly string[] = [],
): ObjectEvent =>
  objectEvent("number.changed", at, number, {
    id: number._id,
    change,
    phone_number: maskPhone(number.phone_number),
    provider: number.provider,
    status: number.status,
    fields: [...fields],
  });

/** A number is new. */
export const numberCreated = (number: Told, at: Date): ObjectEvent => numberEvent(at, number, "created");

/** A number is gone. */
export const numberRemoved = (number: Told, at: Date): ObjectEvent => numberEvent(at, number, "removed");

/** A number becomes another: told to its owner, or to whom it is taken from and then to whom it is given to. None where nothing changes. */
export function numberChanged(seen: NumberDoc, set: Partial<NumberSettings>, at: Date): ObjectEvent[] {
  const fields = CHANGEABLE.filter((field) => set[field] !== undefined && set[field] !== (seen[field] ?? null));
  if (fields.length === 0) return [];
  const changed = { ...seen, ...set };
  return fields.includes("reseller_id") || fields.includes("merchant_id")
    ? [numberEvent(at, seen, "withdrawn"), numberEvent(at, changed, "allotted", fields)]
    : [numberEvent(at, changed, "updated", fields)];
}
