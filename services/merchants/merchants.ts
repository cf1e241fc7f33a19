import { recordAudit } from "../../shared/audit.ts";
import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../shared/bus.ts";
import { scopeOf, type By } from "../../shared/contracts/identity.ts";
import type { MerchantRecord } from "../../shared/contracts/merchants.ts";
import { fail } from "../../shared/errors.ts";
import { pageFilter, pageOf, pageSize } from "../../shared/page.ts";
import { namesNothing, ownsAnything } from "./tenant-usage.ts";
import { merchantForChange, merchantView, unknownMerchant } from "./merchant-access.ts";
import type { MerchantDoc } from "./merchants.model.ts";
import type { MerchantsRepository } from "./merchants.repository.ts";
import { nameKey } from "./name-key.ts";
import { refuseMerchant } from "./permissions.ts";
import type { ResellersRepository } from "./resellers.repository.ts";

/** Merchants, as the service's actions want them. */
export interface Merchants {
  create(wanted: ParamsOf<"merchants.create">): Promise<MerchantRecord>;
  list(asked: ParamsOf<"merchants.list">): Promise<ResultOf<"merchants.list">>;
  get(asked: ParamsOf<"merchants.get">): Promise<MerchantRecord>;
  update(asked: ParamsOf<"merchants.update">, bus: Bus): Promise<MerchantRecord>;
  remove(asked: ParamsOf<"merchants.remove">, bus: Bus): Promise<Record<string, never>>;
}

/** Manages merchants. */
export function managingMerchants(
  ground: ServiceDeps,
  merchants: MerchantsRepository,
  resellers: ResellersRepository,
): Merchants {
  const permit = (by: By, reseller_id: string): void => {
    const refusal = refuseMerchant(by, reseller_id);
    if (refusal) fail("FORBIDDEN", refusal);
  };
  const forChange = (by: By, id: string): Promise<MerchantDoc> =>
    merchantForChange(merchants, by, id, (reseller_id) => refuseMerchant(by, reseller_id));
  return {
    async create({ by, name, reseller_id, contact_email }) {
      permit(by, reseller_id);
      if (!(await resellers.one(reseller_id)))
        fail("RESELLER_NOT_FOUND", "No reseller has this reseller_id; create the reseller first.");
      const now = ground.clock.now();
      const merchant: MerchantDoc = {
        _id: ground.ids.uuid(),
        name,
        name_key: nameKey(name),
        reseller_id,
        contact_email,
        is_active: true,
        paused: null,
        created_at: now,
        updated_at: now,
      };
      await merchants.add(merchant);
      return merchantView(merchant);
    },
    async list({ by, limit, cursor, ...filter }) {
      const { items, next_cursor } = pageOf(
        await merchants.page(scopeOf(by), filter, pageFilter(cursor), pageSize(limit)),
        limit,
      );
      return { count: items.length, merchants: items.map(merchantView), next_cursor };
    },
    get: async ({ by, id }) => merchantView((await merchants.find(scopeOf(by), id)) ?? unknownMerchant()),
    async update({ by, id, ...wanted }, bus) {
      if (Object.keys(wanted).length === 0) namesNothing();
      await forChange(by, id);
      const change = {
        ...wanted,
        ...(wanted.name === undefined ? {} : { name_key: nameKey(wanted.name) }),
        updated_at: ground.clock.now(),
      };
      const changed = (await merchants.change(scopeOf(by), id, change)) ?? unknownMerchant();
      await recordAudit(ground, bus, {
        by,
        action: "merchant.updated",
        subject: id,
        reseller_id: changed.reseller_id,
        merchant_id: id,
        details: wanted,
      });
      return merchantView(changed);
    },
    async remove({ by, id }, bus) {
      const { reseller_id, name } = await forChange(by, id);
      const owned = await ownsAnything(bus, { reseller_id, merchant_id: id });
      if (owned !== null)
        fail(
          "RESOURCE_IN_USE",
          `The merchant has ${owned}; delete or finish them first, or switch the merchant off with is_active false.`,
        );
      await merchants.remove(scopeOf(by), id);
      await recordAudit(ground, bus, {
        by,
        action: "merchant.deleted",
        subject: id,
        reseller_id,
        merchant_id: id,
        details: { name },
      });
      return {};
    },
  };
}
