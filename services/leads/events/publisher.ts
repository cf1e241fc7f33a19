import { cursorOwner, type CursorOwner, type OwnerDeps } from "../../../shared/database/event-cursor.ts";
import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import type { EventLog } from "./event-log.repository.ts";
import type { OutboxRepository } from "./outbox.repository.ts";
import { outboxOf, placed } from "./published-event.ts";

/** Leads whose events are published in one pass. */
const BATCH = 200;

/** Passes of the publisher begin at least this far apart: events of one moment share a write. */
export const PUBLISH_GAP_MS = 20;

/** What publishing needs. */
export interface PublisherDeps extends OwnerDeps, Pick<ServiceDeps, "bus" | "env"> {
  leads: OutboxRepository;
  events: EventLog;
}

/** Copies the events of outboxes into the log. */
export interface Publisher {
  /** One pass. True when there were as many leads as one pass takes, or another process has come between. */
  pass(): Promise<boolean>;
  /** A lead has events: of this process (`here`), or of another. */
  owed(here: boolean): void;
  leave(): Promise<void>;
}

/** A position that is to be read from the log. */
const UNKNOWN = -1;

/**
 * The publisher of this process. Of all processes one owns the cursor and publishes; the others tell it of theirs. Where two meet, because one had stood still for longer than its lease, the log
 * takes each position and each event once: whoever comes second starts again from what is there. So nothing is lost, repeated or out of order, whenever a process dies.
 */
export function createPublisher(deps: PublisherDeps): Publisher {
  /** The last position; unknown: what of the outboxes is in the log already is to be looked up, too. */
  let last = UNKNOWN;
  let toTell = false;
  const owner: CursorOwner = cursorOwner(deps, { area: "events", name: "publisher" }, () => {
    last = UNKNOWN;
  });

  async function publish(): Promise<boolean> {
    const { bus, clock, env, events, leads } = deps;
    const known = last === UNKNOWN;
    const owing = await leads.owingEvents(BATCH);
    if (owing.length === 0) return false;
    const owed = owing.flatMap(outboxOf);
    const there = known ? await events.known(owed.map(({ _id }) => _id)) : new Set<string>();
    const fresh = owed.filter(({ _id }) => !there.has(_id));
    // the log may have expired, and end before the cursor
    const after = known ? Math.max(owner.position(), await events.last()) : last;
    last = UNKNOWN;
    if (fresh.length > 0 && !(await events.append(placed(fresh, after, clock.now(), env.EVENTS_RETENTION_DAYS))))
      return true;
    const position = after + fresh.length;
    owner.moveTo(position);
    if (fresh.length > 0) bus.broadcast("events.published", { position });
    const emptied = await leads.emptyOutboxes(owing);
    // a lead that has moved on meanwhile keeps its outbox, of which the beginning is in the log
    if (emptied === owing.length) last = position;
    return owing.length === BATCH || emptied < owing.length;
  }

  return {
    async pass() {
      if (await owner.has()) {
        toTell = false;
        return publish();
      }
      if (toTell) deps.bus.broadcast("events.owed", {});
      toTell = false;
      return false;
    },
    owed(here) {
      toTell ||= here;
    },
    leave: () => owner.leave(),
  };
}
