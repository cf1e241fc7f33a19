import { Schema, type Model } from "mongoose";
import type { ServiceDeps } from "../bus/bus.ts";
import { errorForLog } from "../process/log.ts";
import { MS_PER_SECOND, plusSeconds } from "../time/clock.ts";
import { keepLease, RENEWALS_PER_LEASE, type KeptLease } from "../time/lease-keeper.ts";
import { SCHEMA_OPTIONS } from "./mongo.ts";
import { insertNew } from "./write-batches.ts";

/** How far an owner has come with the log: one document for the publisher, and one for each consumer inside. */
export interface EventCursorDoc {
  _id: string;
  /** Who has it, until when. */
  owner: string;
  lease_until: Date;
  /** The last position that it wrote, or passed on; it may have come further since. */
  position: number;
}

/** A collection of cursors; its owner names it. */
export const eventCursorSchema = new Schema<EventCursorDoc>(
  {
    _id: { type: String, required: true },
    owner: { type: String, required: true },
    lease_until: { type: Date, required: true },
    position: { type: Number, required: true },
  },
  SCHEMA_OPTIONS,
);

/** Who publishes, or reads on. */
export interface EventCursors {
  /** Takes a cursor that is free, new, or ours already; null: another process has it. */
  take(name: string, owner: string, now: Date, lease_until: Date): Promise<EventCursorDoc | null>;
  /** Renews the lease and writes how far we have come; false: it is another's. */
  renew(name: string, owner: string, lease_until: Date, position: number): Promise<boolean>;
}

/** The cursors over their model. */
export const eventCursors = (model: Model<EventCursorDoc>): EventCursors => ({
  async take(name, owner, now, lease_until) {
    const taken = await model
      .findOneAndUpdate(
        { _id: name, $or: [{ owner }, { lease_until: { $lte: now } }] },
        { $set: { owner, lease_until } },
        { returnDocument: "after" },
      )
      .lean<EventCursorDoc>();
    if (taken) return taken;
    if (await model.findOne({ _id: name }, { _id: 1 }).lean()) return null;
    const made = { _id: name, owner, lease_until, position: 0 };
    const [fresh] = await insertNew(model, [made]);
    return fresh === true ? made : null;
  },
  async renew(name, owner, lease_until, position) {
    const { matchedCount } = await model.updateOne({ _id: name, owner }, { $set: { lease_until, position } });
    return matchedCount === 1;
  },
});

/** How long a cursor stays with a process that died. */
const LEASE_SECONDS = 6;

/** What owning a cursor needs. */
export interface OwnerDeps extends Pick<ServiceDeps, "clock" | "log" | "nodeId"> {
  cursors: EventCursors;
}

/** A cursor that one process has at a time: whoever publishes, or passes events on, does so only while it has it. */
export interface CursorOwner {
  /** Whether this process has the cursor, or has just got it; asks for it again in thirds of its lease at most. */
  has(): Promise<boolean>;
  /** The last position that was written or passed on. */
  position(): number;
  /** We have come to here; written with the next renewal. */
  moveTo(position: number): void;
  /** Gives the cursor back, so that another process need not wait for the end of the lease. */
  leave(): Promise<void>;
}

/** The cursor `name`. `area`: of its lines in the log, `<area>.cursor_taken` and so on. `onTaken` runs when this process got it. */
export function cursorOwner(
  { clock, log, nodeId, cursors }: OwnerDeps,
  { area, name }: { area: string; name: string },
  onTaken: () => void = () => undefined,
): CursorOwner {
  let lease: KeptLease | null = null;
  let position = 0;
  let nextTakeMs = -Infinity;
  const until = (): Date => plusSeconds(clock.now(), LEASE_SECONDS);
  const write = (): Promise<boolean> => cursors.renew(name, nodeId, until(), position);
  const ours = (): boolean => lease !== null && !lease.signal.aborted && clock.monotonicMs() < lease.endsAtMs();

  async function take(): Promise<boolean> {
    const nowMs = clock.monotonicMs();
    if (nowMs < nextTakeMs) return false;
    nextTakeMs = nowMs + (LEASE_SECONDS * MS_PER_SECOND) / RENEWALS_PER_LEASE;
    const taken = await cursors.take(name, nodeId, clock.now(), until());
    if (!taken) return false;
    lease?.drop();
    position = taken.position;
    lease = keepLease({
      clock,
      leaseSeconds: LEASE_SECONDS,
      renew: write,
      onLost: () => log.info({ event: `${area}.cursor_lost`, cursor: name }, "another process follows the events now"),
      onError: (error) =>
        log.warn(
          { event: `${area}.cursor_not_renewed`, cursor: name, ...errorForLog(error) },
          "the lease of a cursor of events could not be renewed; trying again",
        ),
    });
    log.info({ event: `${area}.cursor_taken`, cursor: name, position }, "this process follows the events");
    onTaken();
    return true;
  }

  return {
    has: () => (ours() ? Promise.resolve(true) : take()),
    position: () => position,
    moveTo: (to) => {
      position = to;
    },
    async leave() {
      if (!ours()) return;
      lease?.drop();
      lease = null;
      await cursors.renew(name, nodeId, clock.now(), position).catch(() => false);
    },
  };
}
