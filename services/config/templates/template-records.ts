import { DEFAULT_LISTENING } from "../../../shared/contracts/records/listening-settings.ts";
import {
  DEFAULT_EVALUATION_WAIT_SECONDS,
  DEFAULT_LIMITS,
  type Evaluator,
  type TemplateInput,
  type TemplatePatch,
  type TemplateRecord,
} from "../../../shared/contracts/records/template.ts";
import type { TemplateDoc, VersionDoc } from "./templates.model.ts";

const DEFAULT_LANGUAGE = "en-US";

/** A new template as it is kept and shown: version 1, every default filled in. */
export const newRecord = (id: string, t: TemplateInput, now: Date): TemplateRecord => ({
  id,
  version: 1,
  reseller_id: t.reseller_id,
  merchant_id: t.merchant_id ?? null,
  name: t.name,
  is_active: t.is_active ?? true,
  payload_schema: t.payload_schema ?? null,
  variables: t.variables ?? [],
  initial_node: t.initial_node,
  nodes: t.nodes,
  global_functions: t.global_functions ?? [],
  greeting: t.greeting ?? null,
  voicemail_message: t.voicemail_message ?? null,
  do_not_call_function: t.do_not_call_function ?? true,
  do_not_call_key: t.do_not_call_key ?? null,
  voice: t.voice ?? null,
  language: t.language ?? DEFAULT_LANGUAGE,
  limits: { ...DEFAULT_LIMITS, ...t.limits },
  listening: { ...DEFAULT_LISTENING, ...t.listening },
  speaks_first: t.speaks_first ?? "agent",
  retry_on: t.retry_on ?? null,
  engine: t.engine ?? null,
  models: t.models ?? {},
  evaluators: t.evaluators ?? [],
  summary: t.summary ?? false,
  evaluation_wait_seconds: t.evaluation_wait_seconds ?? DEFAULT_EVALUATION_WAIT_SECONDS,
  created_at: now.toISOString(),
  updated_at: now.toISOString(),
});

const put = <K extends string, V>(field: K, value: V | null): { [F in K]?: V } =>
  value === null ? {} : ({ [field]: value } as { [F in K]: V });

/** A record as a client would write it. */
const asWritten = (r: TemplateRecord): TemplateInput => ({
  reseller_id: r.reseller_id,
  ...put("merchant_id", r.merchant_id),
  name: r.name,
  is_active: r.is_active,
  initial_node: r.initial_node,
  nodes: r.nodes,
  variables: r.variables,
  global_functions: r.global_functions,
  language: r.language,
  limits: r.limits,
  listening: r.listening ?? {},
  speaks_first: r.speaks_first ?? "agent",
  models: r.models,
  evaluators: r.evaluators,
  summary: r.summary,
  evaluation_wait_seconds: r.evaluation_wait_seconds,
  ...put("payload_schema", r.payload_schema),
  ...put("greeting", r.greeting),
  ...put("voicemail_message", r.voicemail_message),
  do_not_call_function: r.do_not_call_function ?? true,
  ...put("do_not_call_key", r.do_not_call_key ?? null),
  ...put("voice", r.voice),
  ...put("retry_on", r.retry_on),
  ...put("engine", r.engine),
});

/** A template after a change, as a client would write it: what was, with the change over it; `limits` and `listening` field by field, null back to the default. */
export function patchedTemplate(r: TemplateRecord, { limits, listening, ...patch }: TemplatePatch): TemplateInput {
  const { limits: limitsNow, listening: listeningNow, ...now } = asWritten(r);
  const merged = Object.entries({
    ...now,
    ...patch,
    ...(limits === null ? {} : { limits: { ...limitsNow, ...limits } }),
    ...(listening === null ? {} : { listening: { ...listeningNow, ...listening } }),
  });
  return Object.fromEntries(merged.filter(([, value]) => value !== null)) as unknown as TemplateInput; // no required field can be null: the patch's schema allows null for the others only
}

const MS = 1;

/** The version after this one. Its time is later than anything that was shown of the template, so that versions have one order. */
export const nextRecord = (head: TemplateDoc, was: TemplateRecord, t: TemplateInput, now: Date): TemplateRecord => ({
  ...newRecord(was.id, t, now),
  version: was.version + 1,
  created_at: was.created_at,
  updated_at: new Date(Math.max(now.getTime(), head.updated_at.getTime() + MS)).toISOString(),
});

/** The head that belongs to a record. */
export const headOf = (r: TemplateRecord): TemplateDoc => ({
  _id: r.id,
  reseller_id: r.reseller_id,
  merchant_id: r.merchant_id,
  name: r.name,
  is_active: r.is_active,
  version: r.version,
  max_age_seconds: r.limits.max_age_seconds,
  rtc_join_timeout_seconds: r.limits.rtc_join_timeout_seconds ?? null,
  max_call_seconds: r.limits.max_call_seconds,
  retry_on: r.retry_on,
  created_at: new Date(r.created_at),
  updated_at: new Date(r.updated_at),
});

/** The id of a version. */
export const versionId = (template_id: string, version: number): string => `${template_id}:${version}`;

/** The version document that belongs to a record. */
export const versionOf = (r: TemplateRecord): VersionDoc => ({
  _id: versionId(r.id, r.version),
  template_id: r.id,
  version: r.version,
  record: JSON.stringify(r),
  created_at: new Date(r.updated_at),
});

function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) frozen(inner);
  }
  return value;
}

/** Fields that versions kept from before do not have. */
const LATER_FIELDS = {
  voicemail_message: null,
  do_not_call_function: true,
  do_not_call_key: null,
  listening: DEFAULT_LISTENING,
  speaks_first: "agent" as const,
  engine: null,
  models: {},
  summary: false,
  evaluation_wait_seconds: DEFAULT_EVALUATION_WAIT_SECONDS,
};

/** Versions older than the schema of evaluators may have any JSON in their place: an entry without a question is no evaluator. */
const isEvaluator = ({ name, question }: Partial<Evaluator>): boolean =>
  typeof name === "string" && typeof question === "string";

/** The record of a version. Frozen: in one process other services get the same object, and it is cached here. */
export function recordOf(v: VersionDoc): TemplateRecord {
  const record = { ...LATER_FIELDS, ...(JSON.parse(v.record) as TemplateRecord) };
  return frozen({ ...record, evaluators: record.evaluators.filter(isEvaluator) });
}
