import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import type { NumberDoc } from "../../../services/numbers/numbers.model.ts";
import { isHeld } from "../actors/carrier.ts";
import type { Scene } from "../engine/scene.ts";
import type { Finding } from "./dial-invariants.ts";

/** A holder is named by its lead first. */
const LEAD_ID_CHARS = 36;

/**
 * I21, at each write of a number: it is the carrier account's, no other number has its phone number, and each slot that this write reserves is for a
 * lead of whoever owns the number at that instant, or the number is in the shared pool.
 */
export function numberOwnerViolations(scene: Scene, number: NumberDoc, before: NumberDoc | null): Finding[] {
  const { _id, phone_number, reseller_id, merchant_id, removed } = number;
  const found: string[] = [];
  if (removed === null) {
    const twin = scene.database
      .docs<NumberDoc>("numbers")
      .find((n) => n._id !== _id && n.phone_number === phone_number && n.removed === null);
    if (twin) found.push(`${phone_number} belongs to ${reseller_id} and to ${twin.reseller_id}`);
    if (!isHeld(phone_number)) found.push(`${phone_number} came in and is not the carrier account's`);
  }
  const had = new Set(before?.slots.map((s) => s.holder));
  const leads = scene.database.collections.get("leads")?.docs;
  for (const { holder } of number.slots) {
    const lead = had.has(holder) ? undefined : leads?.get(holder.slice(0, LEAD_ID_CHARS));
    if (lead === undefined) continue;
    const { reseller_id: tenant, merchant_id: merchant } = lead as unknown as LeadDoc; // the collection is the leads service's
    if (reseller_id !== null && (reseller_id !== tenant || (merchant_id !== null && merchant_id !== merchant)))
      found.push(`a slot of ${phone_number}, which is ${reseller_id}'s, was reserved for ${holder} of ${tenant}`);
  }
  return found.map((what) => ({ invariant: "I21", what }));
}
