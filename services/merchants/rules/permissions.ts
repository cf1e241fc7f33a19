import { inScope, scopeOf, type By } from "../../../shared/contracts/records/identity.ts";

/** Why this asker may not create or change merchants of this reseller; null: it may. A merchant changes no merchants. */
export function refuseMerchant(by: By, reseller_id: string): string | null {
  if (by.role !== "admin" && by.role !== "reseller")
    return `A token of role ${by.role} can't create or change merchants; ask the reseller or an admin.`;
  if (!inScope(scopeOf(by), { reseller_id }))
    return "The merchant's reseller is another than your own; a reseller manages merchants of its own only.";
  return null;
}

/** Why this asker may not create or change resellers; null: it may. */
export const refuseReseller = (by: By): string | null =>
  by.role === "admin" ? null : `A token of role ${by.role} can't create or change resellers; ask an admin.`;

/** Why this asker may not pause or resume a merchant of this reseller that lies in its scope; null: it may, and a merchant may itself. */
export const refusePause = (by: By, reseller_id: string): string | null =>
  by.role === "merchant"
    ? null
    : by.role === "user"
      ? "A token of role user can't pause or resume calling; ask the merchant."
      : refuseMerchant(by, reseller_id);

/** Why this asker may not see or switch the deployment as a whole; null: it may. */
export const refuseDeployment = (by: By): string | null =>
  by.role === "admin" ? null : `A token of role ${by.role} has no say over the deployment as a whole; ask an admin.`;
