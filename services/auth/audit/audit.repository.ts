import type { Model } from "mongoose";
import type { ListFilter } from "../../../shared/bus/bus.ts";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { createdBetween, newestOf, type PageFilter } from "../../../shared/page.ts";
import type { AuditDoc } from "./audit.model.ts";

/** What a list of entries is narrowed by; `from` inclusive, `to` exclusive. */
type AuditFilter = ListFilter<"auth.listAudit">;

/** The audit log: entries are added and read, and end by their age; nothing changes one. */
export interface AuditRepository {
  add(entry: AuditDoc): Promise<void>;
  /** Deletes the oldest entries written before then, so many at most; how many. */
  endOldest(before: Date, limit: number): Promise<number>;
  page(scope: Scope, filter: AuditFilter, after: PageFilter, size: number): Promise<AuditDoc[]>;
}

/** The repository over a mongoose model. */
export const auditRepository = (model: Model<AuditDoc>): AuditRepository => ({
  add: async (entry) => {
    await model.create(entry);
  },
  endOldest: async (before, limit) => {
    const old = await model
      .find({ created_at: { $lt: before } }, { _id: 1 })
      .sort({ created_at: 1, _id: 1 })
      .limit(limit)
      .lean<Pick<AuditDoc, "_id">[]>();
    if (old.length === 0) return 0;
    await model.deleteMany({ _id: { $in: old.map(({ _id }) => _id) } });
    return old.length;
  },
  page: (scope, { from, to, ...same }, after, size) =>
    newestOf(model, [within(scope), same, createdBetween(from, to), after], size),
});
