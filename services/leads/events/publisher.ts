import { cursorOwner, type CursorOwner, type OwnerDeps } from "../../../shared/database/event-cursor.ts";
import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { MAX_LEADS_OWED, MAX_RESELLERS_TOLD } from "../../../shared/contracts/events/event-actions.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import type { EventLog } from "./event-log.repository.ts";
import type { OutboxRepository } from "./outbox.repository.ts";
import { outboxOf, placed, type Owing } from "./published-event.ts";

/** Leads whose events are published in one pass. */
const BATCH = 200;
/** Passes of the publisher begin at least this far apart: events of one moment share a write. */
export const PUBLISH_GAP_MS = 20;
/** How often leads are looked for that nobody told of, back to a little before the last time: clocks differ, and writes take their time. */
export const LOOK_MS = 5000;
const OVERLAP_MS = 2000;
/** An outbox is emptied when its last event is this old: most leads have gone their whole road by then, and are written once for it. */
export const EMPTY_AFTER_MS = 60_000;
/** Most leads that a look reads, and most that are remembered as told or as published: of further ones the database is asked. */
const MAX_LOOKED = 5000;
const MAX_DUE = 20_000;
/** Most leads that wait as they were read; further ones are read when their turn comes. */
const MAX_READ = 1000;
const MAX_PUBLISHED = 200_000;

/** What publishing needs. */
export interface PublisherDeps extends OwnerDeps, Pick<ServiceDeps, "bus" | "env"> {
  leads: OutboxRepository;
  events: EventLog;
}

/** Copies the events of outboxes into the log. */
export interface Publisher {
  /** One pass. True when there is more to do at once. */
  pass(): Promise<boolean>;
  /** These leads of this process have events; those of them that were `read` behind the write that made the events are not read again. */
  owed(lead_ids: readonly string[], read?: readonly Owing[]): void;
  /** Another process says that these leads have, or, without their ids, that some have. */
  told(lead_ids: readonly string[] | undefined): void;
  leave(): Promise<void>;
}

/** What the publisher remembers. All of it can be forgotten: it is in the database, too. */
interface Memory {
  /** The last position of the log; null: to be read. */
  last: number | null;
  /** Leads that are filled, as far as is known, and the number of the last event of each that is in the log. */
  published: Map<string, number>;
  /** Leads that have events: of this process, as they were read or null, and of others that told us. */
  own: Map<string, Owing | null>;
  others: Set<string>;
  /** There may be any number of leads that nobody told us of: all that have an outbox are read, and emptied at once. */
  behind: boolean;
  /** When leads were looked for that nobody told of, and when they are next. */
  looked: Date;
  nextLookMs: number;
}

/** Forgets what may have become wrong, because another process has published, or a write failed half-way. */
function forget(memory: Memory): void {
  memory.last = null;
  memory.published.clear();
}

/** Writes the events of these outboxes that are not in the log; false: another process has come between, so that it is to be done again. */
async function publish(
  { bus, clock, env, events }: PublisherDeps,
  owner: CursorOwner,
  memory: Memory,
  owing: readonly Owing[],
): Promise<boolean> {
  const { published } = memory;
  // Before it is asked what is there, for of what another process writes meanwhile the log refuses our place. It may have expired, and end before the cursor.
  const after = memory.last ?? Math.max(owner.position(), await events.last());
  const unsure = owing.filter(({ _id }) => !published.has(_id)).map(({ _id }) => _id);
  const there = unsure.length === 0 ? new Map<string, number>() : await events.known(unsure);
  const lastOf = (lead_id: string): number => published.get(lead_id) ?? there.get(lead_id) ?? 0;
  const fresh = owing.flatMap(outboxOf).filter(({ subject, seq }) => seq > lastOf(subject));
  if (fresh.length > 0) {
    let done = false;
    try {
      done = await events.append(placed(fresh, after, clock.now(), env.EVENTS_RETENTION_DAYS));
    } finally {
      // where the answer was lost, they may be there
      if (!done) forget(memory);
    }
    if (!done) return false;
    const resellers = [...new Set(fresh.map(({ reseller_id }) => reseller_id))].filter((id) => id !== null);
    bus.broadcast("events.published", {
      position: after + fresh.length,
      ...(resellers.length > MAX_RESELLERS_TOLD ? {} : { resellers }),
    });
  }
  memory.last = after + fresh.length;
  owner.moveTo(memory.last);
  if (published.size > MAX_PUBLISHED) published.clear();
  // a lead that was read before another process told of it may come behind what that one wrote
  for (const { _id, event_seq = 0 } of owing) published.set(_id, Math.max(lastOf(_id), event_seq));
  return true;
}

/** Publishes all that is in outboxes, and empties them; true: there is more. */
async function catchUp(deps: PublisherDeps, owner: CursorOwner, memory: Memory): Promise<boolean> {
  const began = deps.clock.now();
  // this may take its time, in which what was read grows old
  for (const id of memory.own.keys()) memory.own.set(id, null);
  const owing = await deps.leads.owingEvents(BATCH);
  if (!(await publish(deps, owner, memory, owing))) return true;
  // a lead that has moved on meanwhile keeps its outbox, of which the beginning is in the log
  const emptied = owing.length === 0 ? 0 : await deps.leads.emptyOutboxes(owing);
  for (const { _id } of owing) memory.published.delete(_id);
  memory.behind = owing.length === BATCH || emptied < owing.length;
  memory.looked = began;
  return memory.behind;
}

/** Looks for leads that nobody told of, and empties outboxes whose events have long been published. */
async function look({ clock, leads }: PublisherDeps, memory: Memory): Promise<void> {
  const { others, published } = memory;
  const now = clock.now();
  memory.nextLookMs = clock.monotonicMs() + LOOK_MS;
  const [recent, old] = await Promise.all([
    leads.filledOutboxes({ since: plusMs(memory.looked, -OVERLAP_MS) }, MAX_LOOKED),
    leads.filledOutboxes({ before: plusMs(now, -EMPTY_AFTER_MS) }, MAX_LOOKED),
  ]);
  memory.looked = now;
  memory.behind = recent.length === MAX_LOOKED || old.length === MAX_LOOKED;
  const isPublished = ({ _id, event_seq = 0 }: (typeof old)[number]): boolean => published.get(_id) === event_seq;
  for (const lead of [...recent, ...old]) if (!isPublished(lead)) others.add(lead._id);
  const done = old.filter(isPublished);
  if (done.length > 0) await leads.emptyOutboxes(done);
  for (const { _id } of done) published.delete(_id);
}

/** Takes as many leads as one pass publishes; null: to be read. */
function take({ own, others }: Memory): Map<string, Owing | null> {
  const taken = new Map<string, Owing | null>();
  for (const [id, lead] of own) {
    if (taken.size === BATCH) return taken;
    taken.set(id, lead);
    own.delete(id);
  }
  for (const id of others) {
    if (taken.size === BATCH) return taken;
    taken.set(id, null);
    others.delete(id);
  }
  return taken;
}

/** A lead of this process has events. Of two times that it was read the later counts, and one of which nothing is known has it read. */
function addOwn({ own, behind }: Memory, id: string, lead: Owing | null): void {
  const before = own.get(id);
  const isNewer = before === undefined || (before !== null && (lead?.event_seq ?? 0) >= (before.event_seq ?? 0));
  if (lead === null || behind || own.size >= MAX_READ) own.set(id, null);
  else if (isNewer) own.set(id, lead);
}

/** Publishes what is due; true: there is more. */
async function publishDue(deps: PublisherDeps, owner: CursorOwner, memory: Memory): Promise<boolean> {
  const { own, others } = memory;
  const taken = take(memory);
  if (taken.size === 0) return false;
  const unread = [...taken].flatMap(([id, lead]) => (lead === null ? id : []));
  let done = false;
  try {
    const read = unread.length === 0 ? [] : await deps.leads.outboxesOf(unread);
    done = await publish(deps, owner, memory, [...[...taken.values()].filter((lead) => lead !== null), ...read]);
  } finally {
    // should the cursor be another's by then, that one is to hear of them
    if (!done) for (const id of taken.keys()) own.set(id, null);
  }
  return own.size + others.size > 0;
}

/**
 * The publisher of this process. Of all processes one owns the cursor and publishes; the others tell it of theirs. Where two meet, because one had stood still for longer than its lease, the log
 * takes each position and each event once: whoever comes second starts again from what is there. So nothing is lost, repeated or out of order, whenever a process dies.
 *
 * Emptying an outbox is a write of the lead, so it is put off until the lead has no news any more; until then the publisher remembers what of it is in the log, and asks the log where
 * it does not. A process that takes over publishes and empties all that is there first.
 */
export function createPublisher(deps: PublisherDeps): Publisher {
  const { bus, clock } = deps;
  const memory: Memory = {
    last: null,
    published: new Map(),
    own: new Map(),
    others: new Set(),
    behind: true,
    looked: clock.now(),
    nextLookMs: -Infinity,
  };
  const owner: CursorOwner = cursorOwner(deps, { area: "events", name: "publisher" }, () => {
    memory.behind = true;
    forget(memory);
  });

  /** Tells whoever publishes of the leads of this process. */
  function tell(): void {
    const ids = [...memory.own.keys()];
    memory.own.clear();
    memory.others.clear();
    for (let i = 0; i < ids.length; i += MAX_LEADS_OWED)
      bus.broadcast("events.owed", { lead_ids: ids.slice(i, i + MAX_LEADS_OWED) });
  }
  function bound(leads: Map<string, unknown> | Set<string>): void {
    if (leads.size <= MAX_DUE) return;
    leads.clear();
    memory.behind = true;
  }

  return {
    async pass() {
      if (!(await owner.has())) {
        tell();
        return false;
      }
      if (memory.behind) return catchUp(deps, owner, memory);
      if (clock.monotonicMs() >= memory.nextLookMs) await look(deps, memory);
      return (await publishDue(deps, owner, memory)) || memory.behind;
    },
    owed(lead_ids, read = []) {
      const leads = new Map(read.map((lead) => [lead._id, lead]));
      for (const id of lead_ids) addOwn(memory, id, leads.get(id) ?? null);
      bound(memory.own);
    },
    told(lead_ids) {
      if (lead_ids === undefined) memory.nextLookMs = -Infinity;
      for (const id of lead_ids ?? []) memory.others.add(id);
      bound(memory.others);
    },
    leave: () => owner.leave(),
  };
}
