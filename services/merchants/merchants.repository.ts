import type { Model } from "mongoose";
import type { Scope } from "../../shared/contracts/identity.ts";
import { PAGE_ORDER, type PageFilter } from "../../shared/page.ts";
import type { MerchantDoc } from "./merchants.model.ts";
import type { ResellerDoc } from "./resellers.model.ts";

const MAX_QUERY_MS = 5000;

/** Reads and writes of the scope tree. What a person reads takes a scope. */
export interface ScopeTree {
  addReseller(reseller: ResellerDoc): Promise<void>;
  addMerchant(merchant: MerchantDoc): Promise<void>;
  hasReseller(id: string): Promise<boolean>;
  /** True when the merchant exists under this reseller. */
  hasMerchant(id: string, reseller_id: string): Promise<boolean>;
  resellers(scope: Scope, after: PageFilter, limit: number): Promise<ResellerDoc[]>;
  merchants(scope: Scope, filter: { reseller_id?: string | undefined }, after: PageFilter, limit: number): Promise<MerchantDoc[]>;
}

/** The repository over the two models. */
export function scopeTree(resellers: Model<ResellerDoc>, merchants: Model<MerchantDoc>): ScopeTree {
  return {
    addReseller: async (reseller) => { await resellers.create(reseller); },
    addMerchant: async (merchant) => { await merchants.create(merchant); },
    hasReseller: async (id) => (await resellers.exists({ _id: id }).maxTimeMS(MAX_QUERY_MS)) !== null,
    hasMerchant: async (id, reseller_id) => (await merchants.exists({ _id: id, reseller_id }).maxTimeMS(MAX_QUERY_MS)) !== null,
    resellers: (scope, after, limit) => resellers
      .find({ $and: [scope.reseller_id === null ? {} : { _id: scope.reseller_id }, after] })
      .sort(PAGE_ORDER).limit(limit).maxTimeMS(MAX_QUERY_MS).lean<ResellerDoc[]>(),
    merchants: (scope, filter, after, limit) => merchants
      .find({ $and: [
        scope.reseller_id === null ? {} : { reseller_id: scope.reseller_id },
        scope.merchant_id === null ? {} : { _id: scope.merchant_id },
        filter.reseller_id === undefined ? {} : { reseller_id: filter.reseller_id },
        after,
      ] })
      .sort(PAGE_ORDER).limit(limit).maxTimeMS(MAX_QUERY_MS).lean<MerchantDoc[]>(),
  };
}
