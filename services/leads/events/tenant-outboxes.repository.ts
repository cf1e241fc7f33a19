import type { Model } from "mongoose";
import pLimit from "p-limit";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { kindOf } from "../../../shared/contracts/events/event-type.ts";
import { OWES_EVENTS } from "../../../shared/database/object-outbox.ts";
import { insertNew } from "../../../shared/database/write-batches.ts";
import { fail } from "../../../shared/errors.ts";
import { filledAt, type OutboxRepository } from "./outbox.repository.ts";
import type { TakenEvent, TenantOutboxDoc } from "./tenant-outboxes.model.ts";

/** Objects whose events are written side by side. */
const WRITES_AT_ONCE = 8;
/** Writers of one object's events that may come before this one. */
const TRIES = 20;

type Handed = ParamsOf<"leads.takeEvents">["objects"][number];

/** The outboxes of objects that are no leads. */
export interface TenantOutboxes extends OutboxRepository {
  /** Takes events over; the outboxes with those that were not there. What was published and emptied is taken again: the log has it once. */
  take(objects: readonly Handed[], now: Date): Promise<TenantOutboxDoc[]>;
}

async function takeOne(
  model: Model<TenantOutboxDoc>,
  { subject: _id, events }: Handed,
  now: Date,
): Promise<TenantOutboxDoc | null> {
  const taken = events.map((event): TakenEvent => ({ ...event, at: new Date(event.at) }));
  for (let lost = 0; lost < TRIES; lost++) {
    const there = await model.findOne({ _id }, { event_seq: 1 }).lean<Pick<TenantOutboxDoc, "event_seq">>();
    const fresh = taken.filter(({ seq }) => seq > (there?.event_seq ?? 0)).sort((a, b) => a.seq - b.seq);
    const last = fresh.at(-1);
    if (last === undefined) return null;
    const set = { event_seq: last.seq, outbox_at: now };
    if (there === null) {
      const made = { _id, ...set, outbox: fresh };
      if ((await insertNew(model, [made]))[0] === true) return made;
      continue;
    }
    const grown = await model
      .findOneAndUpdate(
        { _id, event_seq: there.event_seq },
        { $set: set, $push: { outbox: { $each: fresh } } },
        { returnDocument: "after" },
      )
      .lean<TenantOutboxDoc>();
    if (grown !== null) return grown;
  }
  return fail("BUSY", "The events of an object are being handed over by many at once; try again.");
}

/** The repository over the model. An outbox is emptied by its removal: the log knows which of an object's events it has. */
export const tenantOutboxes = (model: Model<TenantOutboxDoc>): TenantOutboxes => ({
  async take(objects, now) {
    // an object whose events came in several pieces takes them one after the other
    const pieces = [...Map.groupBy(objects, ({ subject }) => subject).values()];
    const taken = await pLimit(WRITES_AT_ONCE).map(pieces, async (some) => {
      let last: TenantOutboxDoc | null = null;
      for (const piece of some) last = (await takeOne(model, piece, now)) ?? last;
      return last;
    });
    return taken.filter((outbox) => outbox !== null);
  },
  owingEvents: (limit) => model.find(OWES_EVENTS).sort({ outbox_at: 1 }).limit(limit).lean<TenantOutboxDoc[]>(),
  outboxesOf: (ids) => model.find({ _id: { $in: [...ids] } }).lean<TenantOutboxDoc[]>(),
  filledOutboxes: (of, limit) =>
    model
      .find(filledAt(of), { event_seq: 1 })
      .sort({ outbox_at: 1 })
      .limit(limit)
      .lean<Pick<TenantOutboxDoc, "_id" | "event_seq">[]>(),
  async emptyOutboxes(outboxes) {
    let emptied = 0;
    for (const { _id, event_seq } of outboxes)
      if (event_seq !== undefined) emptied += (await model.deleteOne({ _id, event_seq })).deletedCount;
    return emptied;
  },
});

/** Both kinds as one, for the publisher: those of other objects are few, and come first. */
export function allOutboxes(leads: OutboxRepository, others: OutboxRepository): OutboxRepository {
  const apart = <T>(items: readonly T[], idOf: (item: T) => string): [T[], T[]] => [
    items.filter((item) => kindOf(idOf(item)) !== "lead"),
    items.filter((item) => kindOf(idOf(item)) === "lead"),
  ];
  return {
    async owingEvents(limit) {
      const found = await others.owingEvents(limit);
      return found.length >= limit ? found : [...found, ...(await leads.owingEvents(limit - found.length))];
    },
    async outboxesOf(ids) {
      const [theirs, ofLeads] = apart(ids, (id) => id);
      const found = await Promise.all([
        theirs.length === 0 ? [] : others.outboxesOf(theirs),
        ofLeads.length === 0 ? [] : leads.outboxesOf(ofLeads),
      ]);
      return found.flat();
    },
    filledOutboxes: async (of, limit) =>
      (await Promise.all([others.filledOutboxes(of, limit), leads.filledOutboxes(of, limit)])).flat().slice(0, limit),
    async emptyOutboxes(outboxes) {
      const [theirs, ofLeads] = apart(outboxes, ({ _id }) => _id);
      return (await others.emptyOutboxes(theirs)) + (await leads.emptyOutboxes(ofLeads));
    },
  };
}
