import type { Model } from "mongoose";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { PAGE_ORDER, type PageFilter } from "../../../shared/page.ts";
import type { AuditDoc } from "./audit.model.ts";

/** What a list of entries is narrowed by; `from` inclusive, `to` exclusive. */
export interface AuditFilter {
  action?: string | undefined;
  subject?: string | undefined;
  reseller_id?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

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
  page: (scope, { action, subject, reseller_id, from, to }, after, size) =>
    model
      .find({
        $and: [
          within(scope),
          reseller_id === undefined ? {} : { reseller_id },
          action === undefined ? {} : { action },
          subject === undefined ? {} : { subject },
          from === undefined ? {} : { created_at: { $gte: from } },
          to === undefined ? {} : { created_at: { $lt: to } },
          after,
        ],
      })
      .sort(PAGE_ORDER)
      .limit(size)
      .lean<AuditDoc[]>(),
});
