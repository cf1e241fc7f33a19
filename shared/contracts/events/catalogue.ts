/**
 * Every event that integrators and internal services hear of, whichever way they hear it: GET /events, SSE, webhooks, JetStream.
 * They are in the log that `leads.eventsAfter` reads.
 *
 * How an event comes about and leaves:
 *
 * 1. The write that changes a lead carries its events: `leads` alone counts `event_seq` of the lead and appends to its `outbox`, in the same update
 *    (services/leads/events/carried-events.ts).
 *    An event of another tenant's object (a number, say) comes about the same way, in the document of its owner, who hands it over by `leads.takeEvents`, again
 *    until it is taken (shared/database/outbox-hand-over.ts).
 * 2. One owner at a time in `leads` publishes: it copies them into the collection `lead_events`, each at a position, and empties the outbox a minute after the lead's last event. Positions are those of
 *    the whole deployment: 1, 2, 3, … without a gap, in the order of publication; those of one lead are in the order of their `seq`. A gap is never filled later,
 *    so whoever reads in the order of positions misses nothing.
 * 3. Consumers inside (webhooks, JetStream) ask `leads.eventsAfter` with the last position that they have passed on, and keep that position themselves, in a
 *    document of their own: what they hand on is acknowledged there, and a consumer that was away goes on where it stopped, as long as the log keeps events
 *    (EVENTS_RETENTION_DAYS). The bus event `events.published` is a hint to ask at once; it may be lost.
 */
import { eventSubject, type CloudEvent, type EventType } from "./event-type.ts";
import { leadEvents } from "./lead-events.ts";
import { tenantEvents } from "./tenant-events.ts";

/** All of them by name. */
export const EVENTS = { ...leadEvents, ...tenantEvents } as const;
/** Name of an event. */
export type EventName = keyof typeof EVENTS;
/** Name of an event of a lead. */
export type LeadEventName = keyof typeof leadEvents;

/** Name of an event of a tenant's object that is no lead. */
export type TenantEventName = keyof typeof tenantEvents;

/** The names, in the order of a lead's road. */
export const EVENT_NAMES: readonly EventName[] = Object.keys(EVENTS).filter((name) => isEventName(name));

/** Whether there is an event of this name. */
export function isEventName(name: string): name is EventName {
  return Object.hasOwn(EVENTS, name);
}

/** Where events of leads come from: the `source` of their CloudEvents. */
export const EVENT_SOURCE = "/callagent/leads";
/** Where events about such a thing come from. */
export const sourceOf = (kind: string): string => (kind === "lead" ? EVENT_SOURCE : `/callagent/${kind}s`);

/** The event of this type as an example, whole. */
export function exampleEvent(type: EventName): CloudEvent {
  const { subject: kind, example }: EventType = EVENTS[type];
  const subject = eventSubject(kind, "0198c0de-7a39-7c53-9d0f-2a2b6a3a1c11");
  return {
    specversion: "1.0",
    id: `${subject}.1`,
    source: sourceOf(kind),
    type,
    subject,
    time: "2026-03-02T09:00:00.000Z",
    datacontenttype: "application/json",
    reseller: "reseller-1",
    merchant: "merchant-1",
    ...(kind === "number" || kind === "pause" ? {} : { template: "5f0c8f0e-7a39-4c53-9d0f-2a2b6a3a1c12" }),
    seq: 1,
    data: example,
  };
}
