import type { Model } from "mongoose";
import type { Scope } from "../../shared/contracts/identity.ts";
import type { TemplateRecord } from "../../shared/contracts/template.ts";
import { PAGE_ORDER, type PageFilter } from "../../shared/page.ts";
import { memory } from "./remembered.ts";
import { headOf, recordOf, versionOf } from "./template-views.ts";
import { versionId, type TemplateDoc, type VersionDoc } from "./templates.model.ts";

/** What a list of templates is narrowed by. */
export interface TemplateFilter { reseller_id?: string; merchant_id?: string; is_active?: boolean }

/** Reads and writes of the collections `templates` and `template_versions`. */
export interface TemplatesRepository {
  /** Writes the version, then the head that names it: a fault in between leaves a version nobody sees. */
  create(record: TemplateRecord): Promise<void>;
  /** The head, if it lies in the scope. */
  head(scope: Scope, id: string): Promise<TemplateDoc | null>;
  /** Heads of all these ids that exist, in no order; for services. */
  heads(ids: readonly string[]): Promise<TemplateDoc[]>;
  page(scope: Scope, filter: TemplateFilter, after: PageFilter, size: number): Promise<TemplateDoc[]>;
  /** One version, whole; remembered, since it never changes. */
  version(template_id: string, version: number): Promise<TemplateRecord | null>;
  /** The current versions of these heads, in their order. */
  current(heads: readonly TemplateDoc[]): Promise<TemplateRecord[]>;
}

const MAX_QUERY_MS = 8000;
const REMEMBERED_VERSIONS = 500;

/** The filters of a scope; an admin's has none. */
export const within = (scope: Scope): Record<string, unknown> => ({
  ...(scope.reseller_id === null ? {} : { reseller_id: scope.reseller_id }),
  ...(scope.merchant_id === null ? {} : { merchant_id: scope.merchant_id }),
});

/** The repository over the two mongoose models. */
export function templatesRepository(templates: Model<TemplateDoc>, versions: Model<VersionDoc>): TemplatesRepository {
  const remembered = memory<TemplateRecord>(REMEMBERED_VERSIONS);
  return {
    async create(record) {
      await versions.create(versionOf(record));
      await templates.create(headOf(record));
    },
    head: (scope, id) => templates.findOne({ $and: [{ _id: id.toLowerCase() }, within(scope)] }).maxTimeMS(MAX_QUERY_MS).lean<TemplateDoc>().exec(),
    heads: (ids) => templates.find({ _id: { $in: ids.map((id) => id.toLowerCase()) } }).maxTimeMS(MAX_QUERY_MS).lean<TemplateDoc[]>().exec(),
    page: (scope, filter, after, size) => templates.find({ $and: [within(scope), { ...filter }, after] }).sort(PAGE_ORDER).limit(size).maxTimeMS(MAX_QUERY_MS).lean<TemplateDoc[]>().exec(),
    version: (template_id, version) => remembered.get(versionId(template_id.toLowerCase(), version), async () => {
      const found = await versions.findOne({ _id: versionId(template_id.toLowerCase(), version) }).maxTimeMS(MAX_QUERY_MS).lean<VersionDoc>().exec();
      return found && recordOf(found);
    }),
    async current(heads) {
      const found = await versions.find({ _id: { $in: heads.map((h) => versionId(h._id, h.version)) } }).maxTimeMS(MAX_QUERY_MS).lean<VersionDoc[]>().exec();
      const records = new Map(found.map((v) => [v._id, recordOf(v)]));
      return heads.flatMap((h) => {
        const record = records.get(versionId(h._id, h.version));
        return record ? [{ ...record, is_active: h.is_active }] : [];
      });
    },
  };
}
