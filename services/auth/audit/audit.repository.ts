import type { Model } from "mongoose";
import type { ListFilter } from "../../../shared/bus/bus.ts";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { createdBetween, newestOf, type PageFilter } from "../../../shared/page.ts";
import type { AuditDoc } from "./audit.model.ts";

/** What a list of entries is narrowed by; `from` inclusive, `to` exclusive. */
type AuditFilter = ListFilter<"auth.listAudit">;

/** The audit log: entries are added and read, nothing else. */
export interface AuditRepository {
  add(entry: AuditDoc): Promise<void>;
  page(scope: Scope, filter: AuditFilter, after: PageFilter, size: number): Promise<AuditDoc[]>;
}

/** The repository over a mongoose model. */
export const auditRepository = (model: Model<AuditDoc>): AuditRepository => ({
  add: async (entry) => {
    await model.create(entry);
  },
  page: (scope, { from, to, ...same }, after, size) =>
    newestOf(model, [within(scope), same, createdBetween(from, to), after], size),
});
