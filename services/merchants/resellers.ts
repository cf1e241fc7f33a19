import { recordAudit } from "../../shared/audit.ts";
import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../shared/bus.ts";
import { scopeOf, type By } from "../../shared/contracts/identity.ts";
import type { ResellerRecord } from "../../shared/contracts/merchants.ts";
import { fail } from "../../shared/errors.ts";
import { pageFilter, pageOf, pageSize } from "../../shared/page.ts";
import { namesNothing, ownsAnything } from "./tenant-usage.ts";
import type { MerchantsRepository } from "./merchants.repository.ts";
import { nameKey } from "./name-key.ts";
import { refuseReseller } from "./permissions.ts";
import type { ResellerDoc } from "./resellers.model.ts";
import type { ResellersRepository } from "./resellers.repository.ts";

/** Resellers, as the service's actions want them. */
export interface Resellers {
  create(wanted: ParamsOf<"merchants.createReseller">): Promise<ResellerRecord>;
  list(asked: ParamsOf<"merchants.listResellers">): Promise<ResultOf<"merchants.listResellers">>;
  get(asked: ParamsOf<"merchants.getReseller">): Promise<ResellerRecord>;
  update(asked: ParamsOf<"merchants.updateReseller">, bus: Bus): Promise<ResellerRecord>;
  remove(asked: ParamsOf<"merchants.deleteReseller">, bus: Bus): Promise<Record<string, never>>;
}

const viewOf = (doc: ResellerDoc): ResellerRecord => ({
  id: doc._id,
  name: doc.name,
  is_active: doc.is_active,
  created_at: doc.created_at.toISOString(),
  updated_at: doc.updated_at.toISOString(),
});

const unknown = (): never =>
  fail("RESELLER_NOT_FOUND", "No reseller has this id; GET /resellers lists those you may see.");

/** Manages resellers. */
export function managingResellers(
  ground: ServiceDeps,
  resellers: ResellersRepository,
  merchants: MerchantsRepository,
): Resellers {
  const permit = (by: By): void => {
    const refusal = refuseReseller(by);
    if (refusal) fail("FORBIDDEN", refusal);
  };
  return {
    async create({ by, name }) {
      permit(by);
      const now = ground.clock.now();
      const reseller: ResellerDoc = {
        _id: ground.ids.uuid(),
        name,
        name_key: nameKey(name),
        is_active: true,
        created_at: now,
        updated_at: now,
      };
      await resellers.add(reseller);
      return viewOf(reseller);
    },
    async list({ by, limit, cursor, ...filter }) {
      const { items, next_cursor } = pageOf(
        await resellers.page(scopeOf(by), filter, pageFilter(cursor), pageSize(limit)),
        limit,
      );
      return { count: items.length, resellers: items.map(viewOf), next_cursor };
    },
    get: async ({ by, id }) => viewOf((await resellers.find(scopeOf(by), id)) ?? unknown()),
    async update({ by, id, ...wanted }, bus) {
      permit(by);
      if (Object.keys(wanted).length === 0) namesNothing();
      const change = {
        ...wanted,
        ...(wanted.name === undefined ? {} : { name_key: nameKey(wanted.name) }),
        updated_at: ground.clock.now(),
      };
      const changed = (await resellers.change(scopeOf(by), id, change)) ?? unknown();
      await recordAudit(ground, bus, {
        by,
        action: "reseller.updated",
        subject: id,
        reseller_id: id,
        merchant_id: null,
        details: wanted,
      });
      return viewOf(changed);
    },
    async remove({ by, id }, bus) {
      permit(by);
      const { name } = (await resellers.find(scopeOf(by), id)) ?? unknown();
      const owned = (await merchants.anyOf(id)) ? "merchants" : await ownsAnything(bus, { reseller_id: id });
      if (owned !== null)
        fail(
          "RESOURCE_IN_USE",
          `The reseller has ${owned}; delete or finish them first, or switch the reseller off with is_active false.`,
        );
      await resellers.remove(scopeOf(by), id);
      await recordAudit(ground, bus, {
        by,
        action: "reseller.deleted",
        subject: id,
        reseller_id: id,
        merchant_id: null,
        details: { name },
      });
      return {};
    },
  };
}
