import type { Bus } from "../../shared/bus/bus.ts";
import { scopeOf, type By, type Scope } from "../../shared/contracts/records/identity.ts";
import { fail } from "../../shared/errors.ts";

/** Whom a template belongs to; merchant null: all merchants of the reseller. */
export interface Owner {
  reseller_id: string;
  merchant_id: string | null;
}

/** Whether the asker's role may write templates and configurations at all. FORBIDDEN. */
export function mayWrite(by: By): void {
  if (by.role === "user")
    fail(
      "FORBIDDEN",
      "The role user may read templates and configurations but not change them; use a token of role merchant or reseller.",
    );
  if (by.role !== "admin" && !by.reseller_id)
    fail("FORBIDDEN", "This token belongs to no reseller, so it can't own anything.");
}

/** Whether the asker may create something for this owner. FORBIDDEN. */
export function mayOwn(by: By, owner: Owner): void {
  mayWrite(by);
  if (by.role !== "admin" && owner.reseller_id !== by.reseller_id)
    fail("FORBIDDEN", "reseller_id is not your own; a token works for its own reseller only.");
  if (by.role === "merchant" && owner.merchant_id !== by.merchant_id) {
    fail(
      "FORBIDDEN",
      owner.merchant_id === null
        ? "merchant_id is missing: a merchant may only create for itself, so name your own merchant_id."
        : "merchant_id is not your own; a merchant may only create for itself.",
    );
  }
}

/** Whether the owner exists: the reseller, and the merchant under it. RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND. */
export async function requireOwner(bus: Bus, owner: Owner): Promise<void> {
  const found = await bus.call("merchants.lookup", {
    reseller_id: owner.reseller_id,
    ...(owner.merchant_id === null ? {} : { merchant_id: owner.merchant_id }),
  });
  if (!found.reseller)
    fail("RESELLER_NOT_FOUND", "reseller_id names no reseller; list them with GET /resellers.", {
      errors: [{ path: "reseller_id", message: "is unknown" }],
    });
  if (owner.merchant_id !== null && !found.merchant)
    fail("MERCHANT_NOT_FOUND", "merchant_id names no merchant of this reseller; list them with GET /merchants.", {
      errors: [{ path: "merchant_id", message: "is unknown" }],
    });
}

/** The scope of services, which act for no user. */
export const EVERYTHING: Scope = { reseller_id: null, merchant_id: null };

/** The thing an asker is about to change, found by a repository. FORBIDDEN by role; `notFound` where the asker's scope has none. */
export async function toChange<Doc>(
  by: By,
  find: (scope: Scope) => Promise<Doc | null>,
  notFound: () => never,
): Promise<Doc> {
  mayWrite(by);
  return (await find(scopeOf(by))) ?? notFound();
}
