import type { By, Scope } from "../../shared/contracts/records/identity.ts";
import type { NumberPatch } from "../../shared/contracts/numbers.ts";
import { fail } from "../../shared/errors.ts";
import type { Env } from "../../shared/process/env.ts";
import type { ParamsOf, ResultOf } from "../../shared/bus/bus.ts";

/** The owner of a number; nulls: the shared pool. */
export interface Owner {
  reseller_id: string | null;
  merchant_id: string | null;
}

/**
 * The owner of a number that is being created. Admins name any owner (none: the shared pool), resellers themselves and their merchants.
 * FORBIDDEN; VALIDATION_FAILED for a merchant without its reseller.
 */
export function ownerFor(by: By, asked: Pick<ParamsOf<"numbers.create">, "reseller_id" | "merchant_id">): Owner {
  const merchant_id = asked.merchant_id ?? null;
  if (by.role === "admin") {
    const reseller_id = asked.reseller_id ?? null;
    if (merchant_id !== null && reseller_id === null) {
      fail("VALIDATION_FAILED", "A number of a merchant needs the reseller_id of that merchant too.", {
        errors: [{ path: "reseller_id", message: "is required when merchant_id is given" }],
      });
    }
    return { reseller_id, merchant_id };
  }
  mayChange(by);
  if (asked.reseller_id === null)
    fail("FORBIDDEN", "Only an admin may put numbers into the shared pool; leave reseller_id out to keep it your own.");
  if (asked.reseller_id !== undefined && asked.reseller_id !== by.reseller_id)
    fail("FORBIDDEN", "reseller_id is not your own; leave it out or name your own reseller.");
  return { reseller_id: by.reseller_id, merchant_id };
}

/** Checks that the caller's role may change numbers at all. FORBIDDEN. */
export function mayChange(by: By): void {
  if (by.role === "admin") return;
  if (by.role !== "reseller" || !by.reseller_id)
    fail(
      "FORBIDDEN",
      `The role ${by.role} may read outbound numbers but not change them; use a token of role reseller.`,
    );
}

/**
 * Checks that the caller may say which numbers the deployment has and by which carrier account: admins, and resellers where `added_by` trusts them.
 * FORBIDDEN.
 */
export function mayAdd(by: By, added_by: Env["NUMBERS_ADDED_BY"]): void {
  mayChange(by);
  if (by.role !== "admin" && added_by === "admin")
    fail(
      "FORBIDDEN",
      "Only an admin adds outbound numbers and says by which provider they go, for the carrier accounts are the deployment's; ask an admin to add the number and to allot it to you.",
    );
}

/** Checks that the owner was found. RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND. */
export function checkOwner(owner: Owner, found: ResultOf<"merchants.lookup">): void {
  if (!found.reseller) fail("RESELLER_NOT_FOUND", "reseller_id names no reseller; list them with GET /resellers.");
  if (owner.merchant_id !== null && !found.merchant)
    fail("MERCHANT_NOT_FOUND", "merchant_id names no merchant of this reseller; list them with GET /merchants.");
}

/** The owner after a change: a reseller named without a merchant means all its merchants. */
export const changedOwner = (was: Owner, asked: Pick<NumberPatch, "reseller_id" | "merchant_id">): Owner => ({
  reseller_id: asked.reseller_id === undefined ? was.reseller_id : asked.reseller_id,
  merchant_id:
    asked.merchant_id !== undefined
      ? asked.merchant_id
      : asked.reseller_id === undefined || asked.reseller_id === was.reseller_id
        ? was.merchant_id
        : null,
});

/** Filter of the numbers that are visible in a scope: a merchant sees its own and those of the whole reseller; the shared pool is the admins'. */
export const visibleTo = (scope: Scope): Record<string, unknown> => ({
  ...(scope.reseller_id === null ? {} : { reseller_id: scope.reseller_id }),
  ...(scope.merchant_id === null ? {} : { merchant_id: { $in: [scope.merchant_id, null] } }),
});
