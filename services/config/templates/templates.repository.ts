import type { Model } from "mongoose";
import type { ListFilter } from "../../../shared/bus/bus.ts";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import { newestOf, type PageFilter } from "../../../shared/page.ts";
import { cached, timedCache } from "../../../shared/cache.ts";
import { headOf, recordOf, versionId, versionOf } from "./template-records.ts";
import type { TemplateDoc, VersionDoc } from "./templates.model.ts";

/** What a list of templates is narrowed by. */
type TemplateFilter = ListFilter<"config.listTemplates">;

/** Reads and writes of the collections `templates` and `template_versions`. */
export interface TemplatesRepository {
  /** Writes the version, then the head that names it: a crash in between leaves a version that no reader sees. */
  create(record: TemplateRecord): Promise<void>;
  /** The head, if it lies in the scope. */
  head(scope: Scope, id: string): Promise<TemplateDoc | null>;
  /** Heads of all these ids that exist, in no order; for services. */
  heads(ids: readonly string[]): Promise<TemplateDoc[]>;
  /** Writes a new version; false when there is one of this number already. The template has it once this is done: `advance` only follows. */
  addVersion(record: TemplateRecord): Promise<boolean>;
  /** Makes the version the current one, unless it is already or a later one is. `is_active` is set where it is given. */
  advance(scope: Scope, record: TemplateRecord, is_active: boolean | undefined): Promise<void>;
  /** Switches a template on or off. */
  setActive(scope: Scope, id: string, is_active: boolean, now: Date): Promise<TemplateDoc | null>;
  /** Removes the head; the versions stay. False: it is gone. */
  remove(scope: Scope, id: string): Promise<boolean>;
  /** The versions of a template up to its current one, newest first. */
  versions(head: TemplateDoc, after: PageFilter, size: number): Promise<VersionDoc[]>;
  /** Whether there is any template in the scope. */
  any(scope: Scope): Promise<boolean>;
  page(scope: Scope, filter: TemplateFilter, after: PageFilter, size: number): Promise<TemplateDoc[]>;
  /** One version, whole; cached, since it never changes. */
  version(template_id: string, version: number): Promise<TemplateRecord | null>;
  /** The current versions of these heads, in their order. */
  current(heads: readonly TemplateDoc[]): Promise<TemplateRecord[]>;
}

/** Versions, which never change. */
const VERSIONS_CACHE = { ttlSeconds: 600, max: 500 };

/** A name's beginning as a range, which an index serves; the upper end is the last character there is. */
const LAST_CHARACTER = "\u{10FFFF}";
const named = ({ name, ...same }: TemplateFilter): Record<string, unknown> => ({
  ...same,
  ...(name === undefined ? {} : { name: { $gte: name, $lt: `${name}${LAST_CHARACTER}` } }),
});

/** The repository over the two mongoose models. */
export const templatesRepository = (
  templates: Model<TemplateDoc>,
  versions: Model<VersionDoc>,
): TemplatesRepository => ({
  ...writes(templates, versions),
  ...headReads(templates),
  ...versionReads(versions),
});

function writes(templates: Model<TemplateDoc>, versions: Model<VersionDoc>) {
  const setActive: TemplatesRepository["setActive"] = (scope, id, is_active, now) =>
    templates
      .findOneAndUpdate(
        { $and: [{ _id: id }, within(scope)] },
        { $set: { is_active }, $max: { updated_at: now } },
        { returnDocument: "after" },
      )
      .lean<TemplateDoc>();
  return {
    setActive,
    addVersion: (record) =>
      versions.create(versionOf(record)).then(
        () => true,
        (error: unknown) => {
          if (isDuplicateKey(error)) return false;
          throw error;
        },
      ),
    async advance(scope, record, is_active) {
      const { _id, is_active: _asWritten, created_at: _created, ...head } = headOf(record);
      const { matchedCount } = await templates.updateOne(
        { $and: [{ _id, version: record.version - 1 }, within(scope)] },
        { $set: { ...head, ...(is_active === undefined ? {} : { is_active }) } },
      );
      if (matchedCount === 0 && is_active !== undefined) await setActive(scope, _id, is_active, head.updated_at);
    },
    remove: async (scope, id) => (await templates.deleteOne({ $and: [{ _id: id }, within(scope)] })).deletedCount > 0,
    async create(record) {
      await versions.create(versionOf(record));
      await templates.create(headOf(record));
    },
  } satisfies Partial<TemplatesRepository>;
}

const headReads = (templates: Model<TemplateDoc>) =>
  ({
    any: async (scope) => (await templates.findOne(within(scope), { _id: 1 }).lean()) !== null,
    head: (scope, id) => templates.findOne({ $and: [{ _id: id.toLowerCase() }, within(scope)] }).lean<TemplateDoc>(),
    heads: (ids) => templates.find({ _id: { $in: ids.map((id) => id.toLowerCase()) } }).lean<TemplateDoc[]>(),
    page: (scope, filter, after, size) => newestOf(templates, [within(scope), named(filter), after], size),
  }) satisfies Partial<TemplatesRepository>;

function versionReads(versions: Model<VersionDoc>) {
  const records = timedCache<TemplateRecord>(VERSIONS_CACHE);
  return {
    versions: (head, after, size) =>
      newestOf(versions, [{ template_id: head._id, version: { $lte: head.version } }, after], size),
    version: (template_id, version) =>
      cached<TemplateRecord, null>(records, versionId(template_id.toLowerCase(), version), async () => {
        const found = await versions.findOne({ _id: versionId(template_id.toLowerCase(), version) }).lean<VersionDoc>();
        return found && recordOf(found);
      }),
    async current(heads) {
      const found = await versions
        .find({ _id: { $in: heads.map((h) => versionId(h._id, h.version)) } })
        .lean<VersionDoc[]>();
      const records = new Map(found.map((v) => [v._id, recordOf(v)]));
      return heads.flatMap((h) => {
        const record = records.get(versionId(h._id, h.version));
        return record ? [{ ...record, is_active: h.is_active, updated_at: h.updated_at.toISOString() }] : [];
      });
    },
  } satisfies Partial<TemplatesRepository>;
}
