import { Schema, type Model } from "mongoose";
import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { MS_PER_SECOND, plusSeconds } from "../../../shared/time/clock.ts";
import { keepLease, RENEWALS_PER_LEASE, type KeptLease } from "../../../shared/time/lease-keeper.ts";

/** How far the log of events was handed to endpoints: one document. */
export interface EventCursorDoc {
  _id: string;
  owner: string;
  lease_until: Date;
  position: number;
}

/** Collection `webhook_cursors`; owner: the webhook service. */
export const eventCursorSchema = new Schema<EventCursorDoc>(
  {
    _id: { type: String, required: true },
    owner: { type: String, required: true },
    lease_until: { type: Date, required: true },
    position: { type: Number, required: true },
  },
  SCHEMA_OPTIONS,
);

const CURSOR = "endpoints";
/** How long the cursor stays with a process that died. */
const LEASE_SECONDS = 6;

/** The cursor that one process has at a time. */
export interface EventCursor {
  /** Whether this process has the cursor, or has just got it. */
  has(): Promise<boolean>;
  /** The position up to which events were handed over. */
  position(): number;
  /** Events were handed over up to here; what was handed over and not written down is handed over again, which changes nothing. */
  moveTo(position: number): Promise<void>;
  /** Gives the cursor back, so that another process need not wait for the end of the lease. */
  leave(): Promise<void>;
}

/** Takes the cursor where it is free, new, or ours already; null: another process has it. */
async function takeCursor(
  model: Model<EventCursorDoc>,
  owner: string,
  now: Date,
  lease_until: Date,
): Promise<EventCursorDoc | null> {
  const filter = { _id: CURSOR, $or: [{ owner }, { lease_until: { $lte: now } }] };
  try {
    return await model
      .findOneAndUpdate(
        filter,
        { $set: { owner, lease_until }, $setOnInsert: { position: 0 } },
        { returnDocument: "after", upsert: true },
      )
      .lean<EventCursorDoc>();
  } catch (error) {
    // the cursor is there, and another's
    if (isDuplicateKey(error)) return null;
    throw error;
  }
}

/** The cursor over its model. */
export function eventCursor(
  { clock, log, nodeId }: Pick<ServiceDeps, "clock" | "log" | "nodeId">,
  model: Model<EventCursorDoc>,
): EventCursor {
  let lease: KeptLease | null = null;
  let position = 0;
  let nextTakeMs = -Infinity;
  const until = (): Date => plusSeconds(clock.now(), LEASE_SECONDS);
  const ours = (): boolean => lease !== null && !lease.signal.aborted && clock.monotonicMs() < lease.endsAtMs();
  const write = async (lease_until: Date): Promise<boolean> =>
    (await model.updateOne({ _id: CURSOR, owner: nodeId }, { $set: { lease_until, position } })).matchedCount === 1;

  async function take(): Promise<boolean> {
    const nowMs = clock.monotonicMs();
    if (nowMs < nextTakeMs) return false;
    nextTakeMs = nowMs + (LEASE_SECONDS * MS_PER_SECOND) / RENEWALS_PER_LEASE;
    const taken = await takeCursor(model, nodeId, clock.now(), until());
    if (!taken) return false;
    lease?.drop();
    position = taken.position;
    lease = keepLease({
      clock,
      leaseSeconds: LEASE_SECONDS,
      renew: () => write(until()),
      onLost: () => log.info({ event: "endpoints.cursor_lost" }, "another process hands events to endpoints now"),
      onError: (error) =>
        log.warn(
          { event: "endpoints.cursor_not_renewed", ...errorForLog(error) },
          "the lease of the cursor of endpoints could not be renewed; trying again",
        ),
    });
    return true;
  }

  return {
    has: () => (ours() ? Promise.resolve(true) : take()),
    position: () => position,
    async moveTo(to) {
      position = to;
      if (!(await write(until()))) lease?.drop();
    },
    async leave() {
      if (!ours()) return;
      lease?.drop();
      lease = null;
      await write(clock.now()).catch(() => false);
    },
  };
}
