import { MongoClient } from "mongodb";
import type { EntryDoc } from "../../services/blacklist/blacklist.model.ts";
import type { ConfigurationDoc, Settings } from "../../services/config/configurations/configurations.model.ts";
import type { CallDoc } from "../../services/dialer/call/calls.model.ts";
import type { LeadDoc } from "../../services/leads/leads.model.ts";
import type { NumberDoc } from "../../services/numbers/numbers.model.ts";
import type { DeliveryDoc } from "../../services/webhook/deliveries/deliveries.model.ts";
import { isRecord, textOf } from "../../shared/json.ts";
import type { EndedLead } from "./outcome-agreement.ts";
import type { LedgerCall, Product } from "./product.ts";
import { withSending } from "./sliding-windows.ts";
import type { Delivered } from "../tools/sink/recording-sink.ts";

/** A configuration as it was stored last. */
export interface StoredConfiguration {
  template_id: string;
  updated_at: Date;
  settings: Settings;
}

/** All that a run left behind: the carrier's ledger, what the receiver of reports got, and the database. */
export interface Evidence {
  calls: LedgerCall[];
  delivered: readonly Delivered[];
  refused: readonly string[];
  sinkUrl: string;
  leads: LeadDoc[];
  attempts: CallDoc[];
  numbers: NumberDoc[];
  listed: EntryDoc[];
  configurations: StoredConfiguration[];
  deliveries: DeliveryDoc[];
}

/** A lead as its outcome is judged. */
export function endedLead({ _id, outcome, meta }: LeadDoc): EndedLead {
  const source = meta["hangup_source"];
  const errors = meta["errors"];
  return {
    lead_id: _id,
    outcome,
    errors: (Array.isArray(errors) ? errors : []).map((error: unknown) =>
      isRecord(error) ? textOf(error["code"]) : "",
    ),
    hangup_by: isRecord(source) ? textOf(source["by"]) : null,
  };
}

/** Reads it all, from the database itself and not through any proxy. */
export async function gather(product: Pick<Product, "stack" | "sink" | "ledgerCalls" | "log">): Promise<Evidence> {
  const client = await MongoClient.connect(product.stack.mongoUri);
  try {
    const all = <Doc extends object>(collection: string): Promise<Doc[]> =>
      client.db().collection(collection).find().toArray() as unknown as Promise<Doc[]>;
    const configurations = await all<ConfigurationDoc>("configurations");
    return {
      calls: withSending(await product.ledgerCalls(), product.log),
      delivered: product.sink.delivered,
      refused: product.sink.refused,
      sinkUrl: product.sink.url,
      leads: await all<LeadDoc>("leads"),
      attempts: await all<CallDoc>("calls"),
      numbers: await all<NumberDoc>("numbers"),
      listed: await all<EntryDoc>("blacklist"),
      configurations: configurations.map((c) => ({
        template_id: c.template_id,
        updated_at: c.updated_at,
        settings: JSON.parse(c.settings) as Settings,
      })),
      deliveries: await all<DeliveryDoc>("deliveries"),
    };
  } finally {
    await client.close();
  }
}

/** What is still under way or to come, but for the leads that may wait; empty when all is quiet. */
export function unrest(
  { calls, leads, attempts, numbers, sinkUrl, delivered }: Evidence,
  waiting: ReadonlySet<string>,
  now: Date,
): string[] {
  const reported = new Set(delivered.map((d) => d.lead_id));
  return [
    ...calls.filter((c) => c.ended_at === null).map((c) => `the call ${c.reference} is live at the carrier`),
    ...leads.filter((l) => l.status === "PROCESSING").map((l) => `lead ${l._id} is PROCESSING`),
    ...leads
      .filter((l) => (l.status === "BACKLOG" || l.status === "RETRY") && l.phone_number !== null && !waiting.has(l._id))
      .map(
        (l) =>
          `lead ${l._id} waits in ${l.status}, ${l.held?.why ?? "held by nothing"}, due ${l.due_at?.toISOString()}`,
      ),
    ...leads.filter((l) => l.report_due_at !== undefined).map((l) => `lead ${l._id} owes its report`),
    ...leads
      .filter((l) => l.status === "FINISHED" && l.payload["reporting_webhook_url"] === sinkUrl && !reported.has(l._id))
      .map((l) => `the report of lead ${l._id} has not come`),
    ...attempts
      .filter((a) => a.state !== "VOID" && a.closed_at === undefined)
      .map((a) => `the attempt ${a._id} is not closed`),
    ...numbers.flatMap((n) =>
      (n.slots ?? []).filter((slot) => slot.until > now).map((slot) => `a line of ${n._id} is held by ${slot.holder}`),
    ),
  ];
}

/** Whether an entry of the blacklist holds for a lead: an admin's for all, a reseller's for its own, a callee's wish for the merchant that was asked. */
export const holdsFor = (e: EntryDoc, lead?: Pick<LeadDoc, "reseller_id" | "merchant_id">): boolean =>
  e.reseller_id === null ||
  (e.reseller_id === lead?.reseller_id && (e.source === undefined || (e.merchant_id ?? null) === lead.merchant_id));
