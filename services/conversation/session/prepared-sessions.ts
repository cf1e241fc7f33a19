import { plusSeconds, type Clock } from "../../../shared/time/clock.ts";
import type { MediaSource } from "../../../shared/contracts/records/session.ts";
import type { NewSession } from "./sessions.repository.ts";

/** Sessions kept at most; one that was dropped is found in the database. */
const MAX_KEPT = 2000;

interface Awaited {
  session: NewSession;
  expires_at: Date;
}

/** The sessions that this process prepared, until their media join, their call ends or their address expires. The documents are the truth. */
export function preparedSessions(clock: Pick<Clock, "now">) {
  const awaited = new Map<string, Awaited>();
  const refs = new Map<string, string>();
  const drop = (call_ref: string): void => {
    const found = awaited.get(call_ref);
    if (found) refs.delete(found.session.token_hash);
    awaited.delete(call_ref);
  };
  const dropExpired = (): void => {
    const now = clock.now();
    for (const [ref, { expires_at }] of awaited) if (expires_at <= now) drop(ref);
  };
  return {
    add(session: NewSession): void {
      drop(session._id);
      awaited.set(session._id, { session, expires_at: plusSeconds(clock.now(), session.ttl_seconds) });
      refs.set(session.token_hash, session._id);
      if (awaited.size > MAX_KEPT) dropExpired();
      for (const oldest of awaited.keys()) {
        if (awaited.size <= MAX_KEPT) return;
        drop(oldest);
      }
    },
    /** The session that an unused, unexpired token stands for; null: this process knows none. */
    byToken(token_hash: string, provider: MediaSource): NewSession | null {
      const found = awaited.get(refs.get(token_hash) ?? "");
      if (found === undefined || found.expires_at <= clock.now()) return null;
      return found.session.provider === provider ? found.session : null;
    },
    /** Its call is over, or its media have joined. */
    drop,
    /** How many calls may still join. */
    count(): number {
      dropExpired();
      return awaited.size;
    },
  };
}

/** The sessions that wait for their calls in this process. */
export type PreparedSessions = ReturnType<typeof preparedSessions>;
