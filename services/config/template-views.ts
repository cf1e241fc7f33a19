import { DEFAULT_LIMITS, type TemplateInput, type TemplateRecord } from "../../shared/contracts/template.ts";
import { versionId, type TemplateDoc, type VersionDoc } from "./templates.model.ts";

const DEFAULT_LANGUAGE = "en-US";

/** A new template as it is kept and shown: version 1, every default filled in. */
export const newRecord = (id: string, t: TemplateInput, now: Date): TemplateRecord => ({
  id, version: 1, reseller_id: t.reseller_id, merchant_id: t.merchant_id ?? null, name: t.name, is_active: t.is_active ?? true,
  payload_schema: t.payload_schema ?? null, variables: t.variables ?? [], initial_node: t.initial_node, nodes: t.nodes,
  global_functions: t.global_functions ?? [], greeting: t.greeting ?? null, voice: t.voice ?? null, language: t.language ?? DEFAULT_LANGUAGE,
  limits: { ...DEFAULT_LIMITS, ...t.limits }, retry_on: t.retry_on ?? null, evaluators: t.evaluators ?? [],
  created_at: now.toISOString(), updated_at: now.toISOString(),
});

/** The head that belongs to a record. */
export const headOf = (r: TemplateRecord): TemplateDoc => ({
  _id: r.id, reseller_id: r.reseller_id, merchant_id: r.merchant_id, name: r.name, is_active: r.is_active, version: r.version,
  max_age_seconds: r.limits.max_age_seconds, max_call_seconds: r.limits.max_call_seconds, retry_on: r.retry_on,
  created_at: new Date(r.created_at), updated_at: new Date(r.updated_at),
});

/** The version document that belongs to a record. */
export const versionOf = (r: TemplateRecord): VersionDoc =>
  ({ _id: versionId(r.id, r.version), template_id: r.id, version: r.version, record: JSON.stringify(r), created_at: new Date(r.updated_at) });

function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) frozen(inner);
  }
  return value;
}

/** The record of a version. Frozen: in one process it goes to other services as it is, and it is remembered here. */
export const recordOf = (v: VersionDoc): TemplateRecord => frozen(JSON.parse(v.record) as TemplateRecord);
