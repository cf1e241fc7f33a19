import type { By } from "../../shared/contracts/identity.ts";
import { fail } from "../../shared/errors.ts";
import type { ParamsOf, ResultOf } from "../../shared/bus.ts";

/** Whom a number belongs to; nulls: shared pool. */
export interface Owner { reseller_id: string | null; merchant_id: string | null }

/**
 * The owner of a number that is being created. Admins name anyone (nobody: the shared pool), resellers themselves and their merchants.
 * FORBIDDEN; VALIDATION_FAILED for a merchant without its reseller.
 */
export function ownerFor(by: By, asked: Pick<ParamsOf<"numbers.create">, "reseller_id" | "merchant_id">): Owner {
  const merchant_id = asked.merchant_id ?? null;
  if (by.role === "admin") {
    const reseller_id = asked.reseller_id ?? null;
    if (merchant_id !== null && reseller_id === null) {
      fail("VALIDATION_FAILED", "A number of a merchant needs the reseller_id of that merchant too.", { errors: [{ path: "reseller_id", message: "is required when merchant_id is given" }] });
    }
    return { reseller_id, merchant_id };
  }
  if (by.role !== "reseller" || !by.reseller_id) fail("FORBIDDEN", `The role ${by.role} may read outbound numbers but not change them; use a token of role reseller.`);
  if (asked.reseller_id === null) fail("FORBIDDEN", "Only an admin may add numbers to the shared pool; leave reseller_id out to add it to your own.");
  if (asked.reseller_id !== undefined && asked.reseller_id !== by.reseller_id) fail("FORBIDDEN", "reseller_id is not your own; leave it out or name your own reseller.");
  return { reseller_id: by.reseller_id, merchant_id };
}

/** Whether the owner was found. RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND. */
export function checkOwner(owner: Owner, found: ResultOf<"merchants.lookup">): void {
  if (!found.reseller) fail("RESELLER_NOT_FOUND", "reseller_id names no reseller; list them with GET /resellers.");
  if (owner.merchant_id !== null && !found.merchant) fail("MERCHANT_NOT_FOUND", "merchant_id names no merchant of this reseller; list them with GET /merchants.");
}

/** Filter of the numbers an asker may see: admins all, resellers their own, merchants and users their own and those of the whole reseller. */
export function visibleTo(by: By): Record<string, unknown> {
  if (by.role === "admin") return {};
  if (by.role === "reseller") return { reseller_id: by.reseller_id };
  return { reseller_id: by.reseller_id, merchant_id: { $in: [by.merchant_id, null] } };
}
