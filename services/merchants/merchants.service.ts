import { service } from "../../shared/bus.ts";
import { scopeOf } from "../../shared/contracts/identity.ts";
import type { MerchantRecord, ResellerRecord } from "../../shared/contracts/merchants.ts";
import { fail } from "../../shared/errors.ts";
import { pageFilter, pageOf, pageSize } from "../../shared/page.ts";
import { refuseMerchant, refuseReseller } from "./creating.ts";
import { merchantSchema, type MerchantDoc } from "./merchants.model.ts";
import { scopeTree } from "./merchants.repository.ts";
import { resellerSchema, type ResellerDoc } from "./resellers.model.ts";

const resellerView = (doc: ResellerDoc): ResellerRecord => ({
  id: doc._id, name: doc.name, is_active: doc.is_active, created_at: doc.created_at.toISOString(), updated_at: doc.updated_at.toISOString(),
});

const merchantView = (doc: MerchantDoc): MerchantRecord => ({
  id: doc._id, name: doc.name, reseller_id: doc.reseller_id, contact_email: doc.contact_email, is_active: doc.is_active,
  created_at: doc.created_at.toISOString(), updated_at: doc.updated_at.toISOString(),
});

/** The scope tree: resellers and their merchants (interface.md 2.6, 4.4). */
export default service("merchants", (ground) => {
  const store = ground.store();
  const tree = scopeTree(store.model("resellers", resellerSchema), store.model("merchants", merchantSchema));
  const fresh = () => {
    const now = ground.clock.now();
    return { _id: ground.ids.uuid(), is_active: true, created_at: now, updated_at: now };
  };
  return {
    actions: {
      async createReseller({ by, name }) {
        const refusal = refuseReseller(by);
        if (refusal) fail("FORBIDDEN", refusal);
        const reseller: ResellerDoc = { ...fresh(), name };
        await tree.addReseller(reseller);
        return resellerView(reseller);
      },
      async listResellers({ by, limit, cursor }) {
        const { items, next_cursor } = pageOf(await tree.resellers(scopeOf(by), pageFilter(cursor), pageSize(limit)), limit);
        return { count: items.length, resellers: items.map(resellerView), next_cursor };
      },
      async create({ by, name, reseller_id, contact_email }) {
        const refusal = refuseMerchant(by, reseller_id);
        if (refusal) fail("FORBIDDEN", refusal);
        if (!await tree.hasReseller(reseller_id)) fail("RESELLER_NOT_FOUND", "No reseller has this reseller_id; create the reseller first.");
        const merchant: MerchantDoc = { ...fresh(), name, reseller_id, contact_email };
        await tree.addMerchant(merchant);
        return merchantView(merchant);
      },
      async list({ by, reseller_id, limit, cursor }) {
        const { items, next_cursor } = pageOf(await tree.merchants(scopeOf(by), { reseller_id }, pageFilter(cursor), pageSize(limit)), limit);
        return { count: items.length, merchants: items.map(merchantView), next_cursor };
      },
      async lookup({ reseller_id, merchant_id }) {
        const reseller = await tree.hasReseller(reseller_id);
        const merchant = reseller && (merchant_id === undefined || await tree.hasMerchant(merchant_id, reseller_id));
        return { reseller, merchant };
      },
    },
  };
});
