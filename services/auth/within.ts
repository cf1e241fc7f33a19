import type { Scope } from "../../shared/contracts/identity.ts";

/** The filter of a scope over documents that name their reseller and merchant; an admin's lets everything through. */
export const within = (scope: Scope): { reseller_id?: string; merchant_id?: string } => ({
  ...(scope.reseller_id === null ? {} : { reseller_id: scope.reseller_id }),
  ...(scope.merchant_id === null ? {} : { merchant_id: scope.merchant_id }),
});
