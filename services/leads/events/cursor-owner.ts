import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { MS_PER_SECOND, plusSeconds } from "../../../shared/time/clock.ts";
import { keepLease, RENEWALS_PER_LEASE, type KeptLease } from "../../../shared/time/lease-keeper.ts";
import type { EventCursors } from "./event-log.repository.ts";

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

/** The cursor `name`. `onTaken` runs when this process got it. */
export function cursorOwner(
  { clock, log, nodeId, cursors }: OwnerDeps,
  name: string,
  onTaken: () => void = () => undefined,
): CursorOwner {
  let lease: KeptLease | null = null;
  let position = 0;
  let nextTakeMs = 0;
  const until = (): Date => plusSeconds(clock.now(), LEASE_SECONDS);
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
      renew: () => cursors.renew(name, nodeId, until(), position),
      onLost: () => log.info({ event: "events.cursor_lost", cursor: name }, "another process follows the events now"),
      onError: (error) =>
        log.warn(
          { event: "events.cursor_not_renewed", cursor: name, ...errorForLog(error) },
          "the lease of a cursor of events could not be renewed; trying again",
        ),
    });
    log.info({ event: "events.cursor_taken", cursor: name, position }, "this process follows the events");
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
