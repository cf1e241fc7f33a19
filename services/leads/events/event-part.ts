import type { Model } from "mongoose";
import type { Handlers, Implementation, ServiceDeps } from "../../../shared/bus/bus.ts";
import type { LeadDoc } from "../leads.model.ts";
import type { LeadsRepository } from "../leads.repository.ts";
import { eventCursorSchema, logEntrySchema } from "./event-log.model.ts";
import { eventCursors, eventLog, type EventCursors, type EventLog } from "./event-log.repository.ts";
import { eventsAfter, eventsOf, listEvents } from "./event-queries.ts";
import { outboxRepository } from "./outbox.repository.ts";
import { createPublisher, type Publisher } from "./publisher.ts";

/** What the leads service does with events. */
export interface EventPart {
  publisher: Publisher;
  events: EventLog;
  cursors: EventCursors;
  actions(leads: LeadsRepository): Handlers<"leads", "events" | "listEvents" | "eventsAfter">;
  /** A lead of this process has events; `nudge` has a pass made soon. */
  owed(nudge: () => void): void;
  /** What it hears; `nudge` has a pass made soon. */
  hears(nudge: () => void): NonNullable<Implementation<"leads">["events"]>;
}

/** The log of events with its publisher, over the collection of leads. */
export function eventPart(service: ServiceDeps, model: Model<LeadDoc>): EventPart {
  const store = service.store();
  const events = eventLog(store.model("lead_events", logEntrySchema));
  const cursors = eventCursors(store.model("event_cursors", eventCursorSchema));
  const publisher = createPublisher({ ...service, events, cursors, leads: outboxRepository(model) });
  return {
    publisher,
    events,
    cursors,
    actions: (leads) => ({
      events: (p) => eventsOf({ leads, events }, p),
      listEvents: (p) => listEvents({ events }, p),
      eventsAfter: (p) => eventsAfter({ events }, p),
    }),
    owed(nudge) {
      publisher.owed(true);
      nudge();
    },
    hears: (nudge) => ({
      "events.owed": () => {
        publisher.owed(false);
        nudge();
      },
    }),
  };
}
