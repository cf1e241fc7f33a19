import { plusSeconds } from "../../../shared/time/clock.ts";
import { sourceOf } from "../../../shared/contracts/events/catalogue.ts";
import { kindOf, type CloudEvent } from "../../../shared/contracts/events/event-type.ts";
import { maskPhone } from "../../../shared/process/log.ts";
import type { LeadDoc, OutboxEntry } from "../leads.model.ts";
import type { LogEntry, Placeless } from "./event-log.model.ts";
import { takenEventsOf, type TenantOutboxDoc } from "./tenant-outboxes.model.ts";

/** What of a lead its events are made of. */
export type OwingLead = Pick<
  LeadDoc,
  | "_id"
  | "reseller_id"
  | "merchant_id"
  | "template_id"
  | "request_id"
  | "execution_mode"
  | "call_direction"
  | "is_test"
  | "phone_number"
  | "attempt_count"
  | "call_id"
  | "event_seq"
  | "outbox"
>;

/** What has an outbox: a lead, or another object's events that were taken over. */
export type Owing = OwingLead | TenantOutboxDoc;

/** That of it alone. */
export const owingOf = (lead: OwingLead): OwingLead => ({
  _id: lead._id,
  reseller_id: lead.reseller_id,
  merchant_id: lead.merchant_id,
  template_id: lead.template_id,
  request_id: lead.request_id,
  execution_mode: lead.execution_mode,
  call_direction: lead.call_direction,
  is_test: lead.is_test,
  phone_number: lead.phone_number,
  attempt_count: lead.attempt_count,
  call_id: lead.call_id,
  ...(lead.event_seq === undefined ? {} : { event_seq: lead.event_seq }),
  ...(lead.outbox === undefined ? {} : { outbox: lead.outbox }),
});

/** Longest call_id of an event. */
const MAX_CALL_ID = 300;

const factsOf = ({ request_id, execution_mode, call_direction, is_test, phone_number }: OwingLead) => ({
  request_id,
  execution_mode,
  call_direction,
  is_test,
  phone_number: phone_number && maskPhone(phone_number),
});

/** What only the finished lead says for certain. */
const endOf = ({ attempt_count, call_id }: OwingLead) => ({
  attempt_count,
  call_id: call_id && call_id.slice(0, MAX_CALL_ID),
});

/** What the lead itself says in an event of this type, of which the write that made the event knew nothing. */
const saidByLead = (lead: OwingLead, { type }: OutboxEntry): Record<string, unknown> => ({
  ...factsOf(lead),
  ...(type === "lead.finished" ? endOf(lead) : {}),
});

/** The events in an outbox, each with its number: of a lead's the last one has the lead's `event_seq`. */
export function outboxOf(lead: Owing): Placeless[] {
  if (!("request_id" in lead)) return takenEventsOf(lead);
  const { outbox = [], event_seq = outbox.length } = lead;
  return outbox.map((entry, i) => {
    const seq = event_seq - outbox.length + i + 1;
    return {
      _id: `${lead._id}.${seq}`,
      subject: lead._id,
      seq,
      type: entry.type,
      at: entry.at,
      reseller_id: lead.reseller_id,
      merchant_id: lead.merchant_id,
      template_id: lead.template_id,
      data: { ...saidByLead(lead, entry), ...entry.data },
    };
  });
}

const SECONDS_PER_DAY = 86_400;

/**
 * The events with their places in the log, behind the position of the last one before them: those of a tenant one after the other, for they are kept together; those
 * of a lead, which has one tenant, in their order.
 */
export function placed(events: readonly Placeless[], after: number, now: Date, days: number): LogEntry[] {
  const tenants = new Map<string, Placeless[]>();
  for (const event of events) {
    const tenant = `${event.reseller_id ?? ""} ${event.merchant_id ?? ""}`;
    const own = tenants.get(tenant);
    if (own === undefined) tenants.set(tenant, [event]);
    else own.push(event);
  }
  const expires_at = plusSeconds(now, days * SECONDS_PER_DAY);
  return [...tenants.values()].flat().map((event, i) => ({ ...event, position: after + i + 1, expires_at }));
}

/** An event of the log as everybody reads it. */
export const toCloudEvent = (of: LogEntry): CloudEvent => ({
  specversion: "1.0",
  id: of._id,
  source: sourceOf(kindOf(of.subject)),
  type: of.type,
  subject: of.subject,
  time: of.at.toISOString(),
  datacontenttype: "application/json",
  ...(of.reseller_id === null ? {} : { reseller: of.reseller_id }),
  ...(of.merchant_id === null ? {} : { merchant: of.merchant_id }),
  ...(of.template_id === null ? {} : { template: of.template_id }),
  seq: of.seq,
  data: of.data,
});
