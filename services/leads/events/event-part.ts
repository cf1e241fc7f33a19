import type { Model } from "mongoose";
import { eventCursors, eventCursorSchema, type EventCursors } from "../../../shared/database/event-cursor.ts";
import type { Handlers, Implementation, ServiceDeps } from "../../../shared/bus/bus.ts";
import type { Loop } from "../../../shared/time/loop.ts";
import type { LeadDoc } from "../leads.model.ts";
import type { LeadsRepository } from "../leads.repository.ts";
import { logSheetSchema } from "./event-log.model.ts";
import { eventLog, type EventLog } from "./event-log.repository.ts";
import { eventsAfter, eventsOf, listEvents } from "./event-queries.ts";
import { createForwarder, type Forwarder } from "./jet-stream.ts";
import { outboxRepository } from "./outbox.repository.ts";
import type { Owing, OwingLead } from "./published-event.ts";
import { createPublisher, type Publisher } from "./publisher.ts";
import { tenantOutboxSchema, type TenantOutboxDoc } from "./tenant-outboxes.model.ts";
import { allOutboxes, tenantOutboxes } from "./tenant-outboxes.repository.ts";

/** The loops of the publisher and of the forwarder, which run once the service has started. */
interface Passes {
  events: Pick<Loop, "nudge">;
  forwarder: Pick<Loop, "nudge"> | null;
}

/** What the leads service does with events. */
export interface EventPart {
  publisher: Publisher;
  /** Passes events on to JetStream; null: this deployment has none. */
  forwarder: Forwarder | null;
  events: EventLog;
  cursors: EventCursors;
  actions(
    leads: LeadsRepository,
    passes: () => Passes | null,
  ): Handlers<"leads", "events" | "listEvents" | "eventsAfter" | "takeEvents">;
  /** These leads of this process have events; some of them as they were read behind the write. */
  owed(passes: Passes | null, lead_ids: readonly string[], read: readonly OwingLead[]): void;
  /** What it hears. */
  hears(passes: () => Passes | null): NonNullable<Implementation<"leads">["events"]>;
  /** Gives back what this process has of it. */
  stop(): Promise<void>;
}

/** The log of events with its publisher, over the collection of leads. */
export function eventPart(service: ServiceDeps, model: Model<LeadDoc>): EventPart {
  const store = service.store();
  const events = eventLog(store.model("lead_events", logSheetSchema), service.clock);
  const cursors = eventCursors(store.model("event_cursors", eventCursorSchema));
  const forwarder =
    service.env.CALLAGENT_EVENTS === "jetstream" ? createForwarder({ ...service, events, cursors }) : null;
  const others = tenantOutboxes(store.model<TenantOutboxDoc>("tenant_outboxes", tenantOutboxSchema));
  const leads = allOutboxes(outboxRepository(model), others);
  const publisher = createPublisher({ ...service, events, cursors, leads });
  const owed = (passes: Passes | null, ids: readonly string[], read: readonly Owing[]): void => {
    publisher.owed(ids, read);
    passes?.events.nudge();
  };
  return {
    publisher,
    forwarder,
    events,
    cursors,
    actions: (leads, passes) => ({
      events: (p) => eventsOf({ leads, events }, p),
      listEvents: (p) => listEvents({ events }, p),
      eventsAfter: (p) => eventsAfter({ events }, p),
      async takeEvents({ objects }) {
        const taken = await others.take(objects, service.clock.now());
        owed(
          passes(),
          taken.map(({ _id }) => _id),
          taken,
        );
        return {};
      },
    }),
    owed,
    hears: (passes) => ({
      "events.published": () => passes()?.forwarder?.nudge(),
      "events.owed": ({ lead_ids }) => {
        publisher.told(lead_ids);
        passes()?.events.nudge();
      },
    }),
    async stop() {
      await publisher.leave();
      await forwarder?.stop();
    },
  };
}
