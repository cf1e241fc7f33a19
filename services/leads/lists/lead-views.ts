import type {
  ClaimedLead,
  DueLead,
  LeadRecord,
  LeadSummary,
  WaitingLead,
} from "../../../shared/contracts/records/lead.ts";
import type { LeadDoc } from "../leads.model.ts";
import { boundedLead, boundedMeta, EVENT_META_BYTES } from "./bounded-lead.ts";
import { isOwnQueue } from "../rules/queue-names.ts";
import type { DueDoc } from "../queues/queues.repository.ts";

const iso = (date: Date | null | undefined): string | null => (date ? date.toISOString() : null);

/** JSON-safe copy: dates inside free-form metadata become text, as they do on the bus. */
const plain = (value: Record<string, unknown>): Record<string, unknown> =>
  JSON.parse(JSON.stringify(value)) as Record<string, unknown>;

/** Sum of what the attempts cost; null while no carrier has sent a price. Rounded to six decimals, the carriers' own precision. */
export function totalCost(costs: Record<string, number>): number | null {
  const known = Object.values(costs);
  return known.length === 0 ? null : Math.round(known.reduce((a, b) => a + b, 0) * 1e6) / 1e6;
}

/** metaData as it is shown: with what the attempts' costs are made of, oldest attempt first. */
function metaOf({ meta, cost_items = {} }: Pick<LeadDoc, "meta" | "cost_items">): Record<string, unknown> {
  const items = Object.entries(cost_items)
    .sort(([a], [b]) => Number(a) - Number(b))
    .flatMap(([claim_no, of]) => of.map((item) => ({ claim_no: Number(claim_no), ...item })));
  return plain(items.length === 0 ? meta : { ...meta, cost_breakdown: { items } });
}

/** Document -> the summary of 2.3. */
export const toSummary = (d: LeadDoc): LeadSummary => ({
  id: d._id,
  reseller_id: d.reseller_id,
  merchant_id: d.merchant_id,
  template: d.template,
  request_id: d.request_id,
  status: d.status,
  outcome: d.outcome,
  attempt_count: d.attempt_count,
  created_at: d.created_at.toISOString(),
  updated_at: d.updated_at.toISOString(),
});

/** Document -> the record of 2.1, of whatever size. */
export const toWholeRecord = (d: LeadDoc): LeadRecord => ({
  ...toSummary(d),
  template_id: d.template_id,
  call_id: d.call_id,
  call_initiated_time: iso(d.call_initiated_time),
  call_end_time: iso(d.call_end_time),
  recording_url: d.recording_url,
  cost: totalCost(d.costs),
  execution_mode: d.execution_mode,
  call_direction: d.call_direction,
  outbound_number_id: d.outbound_number_id,
  trace_scores: d.trace_scores,
  payload: plain(d.payload),
  metaData: metaOf(d),
});

/** Document -> the record of 2.1. */
export const toRecord = (d: LeadDoc): LeadRecord => boundedLead(toWholeRecord(d));

/** From when the lead's age counts, and its faults in a row, where there is anything to say. */
const ageAndFaults = ({
  aged_from,
  faults,
}: Pick<LeadDoc, "aged_from" | "faults">): Pick<DueLead, "aged_from" | "faults"> => ({
  ...(aged_from === undefined ? {} : { aged_from: aged_from.toISOString() }),
  ...(faults === undefined
    ? {}
    : {
        faults: {
          count: faults.count,
          code: faults.code,
          since: faults.since.toISOString(),
          ...(faults.parked_at === undefined ? {} : { parked_at: faults.parked_at.toISOString() }),
        },
      }),
});

/** Of leads from before the size was written down. */
const USUAL_PAYLOAD_BYTES = 2000;

/** What a playground lead changes of the configuration, as it was read: itself, or the lead that has it. */
export const shownOverride = (
  { _id, configurations_override }: Pick<LeadDoc, "_id"> & Partial<Pick<LeadDoc, "configurations_override">>,
  queue: string,
): Pick<DueLead, "configurations_override" | "override_of"> => ({
  configurations_override: configurations_override ?? null,
  ...(configurations_override === undefined && isOwnQueue(queue) ? { override_of: _id } : {}),
});

/** Document -> the due lead for the scheduler; null for one that can't be dialled at all. */
export function toDue(d: DueDoc): DueLead | null {
  if (!d.due_at || !d.phone_number || (d.status !== "BACKLOG" && d.status !== "RETRY")) return null;
  return {
    lead_id: d._id,
    queue: d.queue,
    status: d.status,
    due_at: d.due_at.toISOString(),
    created_at: d.created_at.toISOString(),
    ...ageAndFaults(d),
    reseller_id: d.reseller_id,
    merchant_id: d.merchant_id,
    template_id: d.template_id,
    phone_number: d.phone_number,
    attempt_count: d.attempt_count,
    claim_no: d.claim_no,
    execution_mode: d.execution_mode,
    ...shownOverride(d, d.queue),
    payload_bytes: d.payload_bytes ?? USUAL_PAYLOAD_BYTES,
  };
}

/** The fields of a document that are broadcast when it reaches FINISHED. */
export type FinishedDoc = Pick<
  LeadDoc,
  "_id" | "reseller_id" | "merchant_id" | "request_id" | "outcome" | "attempt_count" | "trace"
>;

/** Document -> the lead that the scheduler is to explain, waiting or not. */
export const toWaiting = (d: LeadDoc): WaitingLead => ({
  lead_id: d._id,
  status: d.status,
  outcome: d.outcome,
  due_at: iso(d.due_at),
  created_at: d.created_at.toISOString(),
  ...ageAndFaults(d),
  ...(d.join_by === undefined ? {} : { join_by: d.join_by.toISOString() }),
  held: d.held && { why: d.held.why, until: d.held.until.toISOString(), since: d.held.since.toISOString() },
  reseller_id: d.reseller_id,
  merchant_id: d.merchant_id,
  template_id: d.template_id,
  phone_number: d.phone_number,
  attempt_count: d.attempt_count,
  claim_no: d.claim_no,
  execution_mode: d.execution_mode,
  configurations_override: d.configurations_override,
});

/** The fields of a document that the lease owner gets. */
export type ClaimedDoc = Pick<
  LeadDoc,
  | "_id"
  | "claim_no"
  | "attempt_count"
  | "reseller_id"
  | "merchant_id"
  | "template_id"
  | "phone_number"
  | "payload"
  | "execution_mode"
  | "pre_check_defers"
  | "trace"
>;

/** Document -> the view of the lease owner. */
export const toClaimed = (d: ClaimedDoc): ClaimedLead => ({
  lead_id: d._id,
  claim_no: d.claim_no,
  attempt_count: d.attempt_count,
  reseller_id: d.reseller_id,
  merchant_id: d.merchant_id,
  template_id: d.template_id,
  phone_number: d.phone_number ?? "",
  payload: plain(d.payload),
  execution_mode: d.execution_mode,
  pre_check_defers: d.pre_check_defers ?? {},
  ...(d.trace === undefined ? {} : { trace: d.trace }),
});

/** Document -> `data` of the reporting webhook: what is known now; nothing is waited for. `phone_number`: as it is shown, masked. */
export function toEventData(d: Omit<LeadDoc, "payload">, phone_number: string | null): Record<string, unknown> {
  const meta = boundedMeta(metaOf(d), EVENT_META_BYTES);
  const seconds =
    d.call_initiated_time && d.call_end_time
      ? Math.max(0, Math.round((d.call_end_time.getTime() - d.call_initiated_time.getTime()) / 1000))
      : null;
  return {
    order_id: d.request_id,
    lead_call_tracker_id: d._id,
    status: d.status,
    outcome: d.outcome,
    attempt_count: d.attempt_count,
    call_id: d.call_id,
    call_initiated_time: iso(d.call_initiated_time),
    call_end_time: iso(d.call_end_time),
    call_duration_seconds: seconds,
    recording_url: d.recording_url,
    transcription: meta["transcription"] ?? [],
    variables: meta["variables"] ?? {},
    trace_scores: d.trace_scores,
    metaData: meta,
    request_id: d.request_id,
    reseller_id: d.reseller_id,
    merchant_id: d.merchant_id,
    template_id: d.template_id,
    template: d.template,
    execution_mode: d.execution_mode,
    call_direction: d.call_direction,
    is_test: d.is_test,
    phone_number,
    cost: totalCost(d.costs),
  };
}
