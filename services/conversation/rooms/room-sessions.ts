import { MEDIA_TOKEN_SECONDS } from "../../../shared/contracts/records/session.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import { startLoop, type Loop } from "../../../shared/time/loop.ts";
import { RoomSession, type RoomSessionDeps } from "./room-session.ts";
import type { RoomWorkers } from "./room-workers.ts";

/** What the rooms of a process are kept with. */
export interface RoomSessionsDeps extends RoomSessionDeps {
  workers: Pick<RoomWorkers, "join" | "isFull" | "start" | "close">;
}

/** A client that came with the last second of its token is let in for so much longer, ms. */
const JOINING_MS = 10_000;
/** How often it is asked who is in the rooms. */
const LOOK_MS = 10_000;

/** The rooms of the sessions of this process. */
export function roomSessions(deps: RoomSessionsDeps) {
  const { clock, log, workers } = deps;
  const here = new Map<string, RoomSession>();
  let looks: Loop | null = null;
  return {
    /** Starts the processes. NOT_AVAILABLE where they do not come up. */
    async start(): Promise<void> {
      await workers.start();
      looks = startLoop({
        name: "rooms",
        clock,
        intervalMs: LOOK_MS,
        pass: async () => {
          for (const session of here.values()) await session.look();
          return false;
        },
        onError: () => undefined,
      });
      log.info({ event: "rooms.ready" }, "Sessions are held in LiveKit rooms.");
    },
    /** No room is left for another session. */
    isFull: (): boolean => workers.isFull(),
    /** The client of this session, which has this token, is awaited in its room. */
    expect(call_ref: string, token: string): void {
      const session =
        here.get(call_ref) ??
        new RoomSession(deps, call_ref, token, () => {
          if (here.get(call_ref) === session) here.delete(call_ref);
        });
      here.set(call_ref, session);
      session.await(token, MEDIA_TOKEN_SECONDS * MS_PER_SECOND + JOINING_MS);
    },
    has: (call_ref: string): boolean => here.has(call_ref),
    /** The session is over; unknown ones are ignored. */
    drop: (call_ref: string): void => here.get(call_ref)?.end(),
    /** Something changed in the room, as the server says: looked at now. */
    hint: (call_ref: string): void => void here.get(call_ref)?.look(),
    async close(): Promise<void> {
      await looks?.stop();
      for (const session of here.values()) session.end();
      await workers.close();
    },
  };
}

/** The rooms of a process. */
export type RoomSessions = ReturnType<typeof roomSessions>;
