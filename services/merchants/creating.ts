import { inScope, scopeOf, type By } from "../../shared/contracts/identity.ts";

/** Why this asker may not create a merchant under this reseller; null: it may. Merchants have no say over their own kind. */
export function refuseMerchant(by: By, reseller_id: string): string | null {
  if (by.role !== "admin" && by.role !== "reseller") return `A token of role ${by.role} can't create merchants; ask the reseller or an admin.`;
  if (!inScope(scopeOf(by), { reseller_id })) return "reseller_id names another reseller than your own; a reseller creates merchants for itself only.";
  return null;
}

/** Why this asker may not create a reseller; null: it may. */
export const refuseReseller = (by: By): string | null => (by.role === "admin" ? null : `A token of role ${by.role} can't create resellers; ask an admin.`);
