import type { Model } from "mongoose";
import { maskPhone } from "../../shared/process/log.ts";
import type { NumberDoc } from "./numbers.model.ts";
import { removal } from "./numbers.repository.ts";

/** Phone numbers that several numbers have, from before a phone number had one owner. Who is right only a person can say. */

/** Doubled phone numbers that are listed at a time. */
const MAX_LISTED = 100;
const NOT_REMOVED = { removed: null } as const;

type Twin = Pick<NumberDoc, "_id" | "provider" | "status" | "reseller_id" | "merchant_id" | "created_at">;

const whoseOf = ({ reseller_id, merchant_id }: Twin): string =>
  reseller_id === null
    ? "shared pool"
    : `reseller ${reseller_id}${merchant_id === null ? "" : `, merchant ${merchant_id}`}`;

/** Lines for people: each doubled phone number, masked, with its numbers; none where there are none. */
export async function numberDoubles(model: Model<NumberDoc>): Promise<string[]> {
  const doubles = await model.aggregate<{ _id: string; numbers: number }>([
    { $match: NOT_REMOVED },
    { $group: { _id: "$phone_number", numbers: { $sum: 1 } } },
    { $match: { numbers: { $gt: 1 } } },
    { $sort: { _id: 1 } },
  ]);
  const lines: string[] = [];
  for (const { _id: phone_number, numbers } of doubles.slice(0, MAX_LISTED)) {
    const twins = await model
      .find({ ...NOT_REMOVED, phone_number }, { provider: 1, status: 1, reseller_id: 1, merchant_id: 1, created_at: 1 })
      .sort({ created_at: 1, _id: 1 })
      .lean<Twin[]>()
      .exec();
    lines.push(`  ${maskPhone(phone_number)} is ${numbers} numbers:`);
    for (const twin of twins)
      lines.push(
        `    ${twin._id}  ${twin.provider}  ${twin.status}  ${whoseOf(twin)}, since ${twin.created_at.toISOString()}`,
      );
  }
  if (doubles.length > MAX_LISTED) lines.push(`  … and ${doubles.length - MAX_LISTED} more`);
  if (lines.length === 0) return [];
  return [
    "a phone number has one owner in the deployment, but these have several:",
    ...lines,
    "  Only you can say whose each one is. Delete the others, with DELETE /numbers/{number_id} of the version that runs or with",
    "  npm run migrate -- --delete-number <number_id> (as often as there are some; live calls finish), and run npm run migrate again.",
  ];
}

/** Deletes one of several numbers that have the same phone number; live calls over it finish. False: there is no such number, or its phone number is no other's. */
export async function deleteDouble(model: Model<NumberDoc>, id: string, now: Date): Promise<boolean> {
  const number = await model
    .findOne({ ...NOT_REMOVED, _id: id })
    .lean<NumberDoc>()
    .exec();
  if (!number || (await model.countDocuments({ ...NOT_REMOVED, phone_number: number.phone_number })) < 2) return false;
  const { modifiedCount } = await model.updateOne({ ...NOT_REMOVED, _id: id }, removal(number, now)).exec();
  return modifiedCount > 0;
}
