import type { Bus } from "../../../shared/bus/bus.ts";
import { placeOf, type ArchiveEntry, type ArchiveOrder } from "../../../shared/contracts/requests/archive.ts";
import type { LeadRecord } from "../../../shared/contracts/records/lead.ts";
import type { RetentionKind } from "../../../shared/contracts/requests/retention.ts";
import { placeIn, sendToArchive } from "../../../shared/privacy/archive-entries.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import type { LeadDoc } from "../leads.model.ts";
import { toWholeRecord } from "../lists/lead-views.ts";
import type { AgedLead, AgedLeads } from "./aged-leads.ts";

/**
 * From the look at the erasures under way on, so long may something be written for a batch. An erasure that is asked for behind that look ends no sooner
 * than a minute later (erasure/erasure-pass.ts), and finds what was written.
 */
const WRITTEN_WITHIN_MS = 45_000;

/** Where what belongs to these leads goes, of which was asked at this instant whether an erasure of them is under way: by the hash of their numbers, so that an erasure finds it and the number stands in no name. NOT_AVAILABLE without ERASURE_KEY. */
export async function archiveOrder(
  bus: Bus,
  asked: Date,
  reseller_id: string,
  leads: readonly AgedLead[],
): Promise<ArchiveOrder> {
  const until = plusMs(asked, WRITTEN_WITHIN_MS).toISOString();
  const numbers = [...new Set(leads.flatMap(({ phone_number }) => (phone_number === null ? [] : [phone_number])))];
  const { folders } = await bus.call("blacklist.archiveFolders", { phone_numbers: numbers });
  const of = new Map(numbers.map((number, i) => [number, folders[i]?.[0] ?? null]));
  const places = leads.map(({ _id: lead_id, merchant_id, phone_number }) => {
    const folder = phone_number === null ? null : (of.get(phone_number) ?? null);
    return { lead_id, place: placeOf({ reseller_id, merchant_id, lead_id, folder }) };
  });
  return { until, places };
}

type Records = Record<string, unknown>[];

/** What was said of a lead, where it has not ended yet. */
function saidOf(lead_id: string, { transcription, variables, summary }: Record<string, unknown>): Records {
  if (transcription === undefined && variables === undefined && summary === undefined) return [];
  return [
    { record: "transcript", lead_id, transcription: transcription ?? [], summary: summary ?? null },
    { record: "variables", lead_id, variables: variables ?? {} },
  ];
}

/** Everything of a lead, in lines that each fit into a message. */
function recordsOf(lead: LeadDoc, { payload, metaData, ...fields }: LeadRecord): Records {
  const { transcription: _said, variables: _filled, summary: _told, ...meta } = metaData;
  const { _id: lead_id, phone_number, finished_at, answered_count, talk_seconds, is_test, history = [] } = lead;
  return [
    { record: "lead", ...fields, phone_number, finished_at, answered_count, talk_seconds, is_test },
    { record: "payload", lead_id, payload },
    { record: "metaData", lead_id, metaData: meta },
    ...saidOf(lead_id, metaData),
    { record: "history", lead_id, history },
  ];
}

/** Writes what this service itself has of a kind of leads, which is about to end, into the archive: how many files that were, and the leads of which it has all. */
export async function archiveOwn(
  bus: Bus,
  aged: Pick<AgedLeads, "whole">,
  kind: RetentionKind,
  lead_ids: readonly string[],
  order: ArchiveOrder,
): Promise<{ written: number; lead_ids: string[] }> {
  if (kind !== "transcripts" && kind !== "leads") return { written: 0, lead_ids: [...lead_ids] };
  const leads = await aged.whole(lead_ids);
  const entries = leads.flatMap((lead): ArchiveEntry[] => {
    const place = placeIn(order, lead._id);
    const record = toWholeRecord(lead);
    return kind === "leads"
      ? recordsOf(lead, record).map((line) => ({ place, file: "lead", record: line }))
      : saidOf(lead._id, record.metaData).map((line) => ({ place, file: "transcript", record: line }));
  });
  return { written: await sendToArchive(bus, order.until, entries), lead_ids: leads.map(({ _id }) => _id) };
}
