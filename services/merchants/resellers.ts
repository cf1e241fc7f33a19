import { recordAudit } from "../../shared/audit.ts";
import type { Bus, Handlers, ServiceDeps } from "../../shared/bus/bus.ts";
import { scopeOf, type By } from "../../shared/contracts/records/identity.ts";
import type { ResellerRecord } from "../../shared/contracts/merchants.ts";
import { fail, failEmptyChange } from "../../shared/errors.ts";
import { readPage } from "../../shared/page.ts";
import { dropOwned, ownedResources } from "./tenant-usage.ts";
import type { MerchantsRepository } from "./merchants.repository.ts";
import { nameKey } from "./rules/name-key.ts";
import { refuseReseller } from "./rules/permissions.ts";
import type { ResellerDoc } from "./resellers.model.ts";
import type { ResellersRepository } from "./resellers.repository.ts";

const viewOf = (doc: ResellerDoc): ResellerRecord => ({
  id: doc._id,
  name: doc.name,
  is_active: doc.is_active,
  spend_ceiling: doc.spend_ceiling ?? null,
  created_at: doc.created_at.toISOString(),
  updated_at: doc.updated_at.toISOString(),
});

const unknown = (): never =>
  fail("RESELLER_NOT_FOUND", "No reseller has this id; GET /resellers lists those you may see.");

/** Manages resellers. */
export function resellerActions(
  deps: Pick<ServiceDeps, "clock" | "ids" | "log">,
  resellers: ResellersRepository,
  merchants: MerchantsRepository,
): Handlers<"merchants", "createReseller" | "listResellers" | "getReseller" | "updateReseller" | "deleteReseller"> {
  const permit = (by: By): void => {
    const refusal = refuseReseller(by);
    if (refusal) fail("FORBIDDEN", refusal);
  };
  const record = (bus: Bus, by: By, action: string, id: string, details: object): Promise<void> =>
    recordAudit(deps, bus, { by, action, subject: id, reseller_id: id, merchant_id: null, details: { ...details } });
  return {
    async createReseller({ by, name, spend_ceiling }, { bus }) {
      permit(by);
      const now = deps.clock.now();
      const common = { is_active: true, created_at: now, updated_at: now };
      const limits = spend_ceiling ? { spend_ceiling } : {};
      const reseller: ResellerDoc = { _id: deps.ids.uuid(), name, name_key: nameKey(name), ...limits, ...common };
      await resellers.add(reseller);
      await record(bus, by, "reseller.created", reseller._id, { name, ...limits });
      return viewOf(reseller);
    },
    async listResellers({ by, limit, cursor, ...filter }) {
      const { items, next_cursor } = await readPage(
        { limit, cursor },
        (after, size) => resellers.page(scopeOf(by), filter, after, size),
        viewOf,
      );
      return { count: items.length, resellers: items, next_cursor };
    },
    getReseller: async ({ by, id }) => viewOf((await resellers.find(scopeOf(by), id)) ?? unknown()),
    async updateReseller({ by, id, ...wanted }, { bus }) {
      permit(by);
      if (Object.keys(wanted).length === 0) failEmptyChange();
      const change = {
        ...wanted,
        ...(wanted.name === undefined ? {} : { name_key: nameKey(wanted.name) }),
        updated_at: deps.clock.now(),
      };
      const changed = (await resellers.change(scopeOf(by), id, change)) ?? unknown();
      if (wanted.spend_ceiling !== undefined) bus.broadcast("calling.switched", { merchant_id: null });
      await record(bus, by, "reseller.updated", id, wanted);
      return viewOf(changed);
    },
    async deleteReseller({ by, id }, { bus }) {
      permit(by);
      const { name } = (await resellers.find(scopeOf(by), id)) ?? unknown();
      const owned = (await merchants.anyOf(id)) ? "merchants" : await ownedResources(bus, { reseller_id: id });
      if (owned !== null)
        fail(
          "RESOURCE_IN_USE",
          `The reseller has ${owned}; delete or finish them first, or switch the reseller off with is_active false.`,
        );
      await dropOwned(bus, { reseller_id: id });
      await resellers.remove(scopeOf(by), id);
      await record(bus, by, "reseller.deleted", id, { name });
      return {};
    },
  };
}
