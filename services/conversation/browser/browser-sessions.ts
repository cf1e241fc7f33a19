import { recencyCache } from "../../../shared/cache.ts";
import { BROWSER, MEDIA_TOKEN_SECONDS, roomOf } from "../../../shared/contracts/records/session.ts";
import { fail } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";
import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import { BrowserLeg, type BrowserSocket } from "./browser-leg.ts";
import type { MediaAddress, MediaAddresses } from "./media-addresses.ts";
import type { PreparedSessions } from "../session/prepared-sessions.ts";
import type { SessionsRepository } from "../session/sessions.repository.ts";

/** What the sessions of browsers are kept with. `most`: sessions at once. */
export interface BrowserSessionsDeps {
  clock: Clock;
  sessions: Pick<SessionsRepository, "renew">;
  prepared: Pick<PreparedSessions, "add">;
  addresses: MediaAddresses;
  most: number;
}

/** The sessions of browsers in this process: their legs, and the tokens by which a client comes back. */
export function browserSessions({ clock, sessions, prepared, addresses, most }: BrowserSessionsDeps) {
  const legs = new Map<string, { leg: BrowserLeg; token_hash: string }>();
  const tokens = recencyCache<string>({ max: most, ttl: { ms: MEDIA_TOKEN_SECONDS * MS_PER_SECOND, clock } });
  return {
    /** The leg of a session whose client is here. */
    begin(call_ref: string, socket: BrowserSocket): BrowserLeg {
      const leg = new BrowserLeg(clock, roomOf(call_ref), () => legs.delete(call_ref));
      legs.set(call_ref, { leg, token_hash: "" });
      leg.attach(socket);
      return leg;
    },
    /** The leg of a session under way that this token lets a client come back to, once; null: it lets nobody in here. */
    takeBack(token: string): BrowserLeg | null {
      const hash = sha256(token);
      const call_ref = tokens.get(hash);
      if (call_ref === undefined) return null;
      tokens.delete(hash);
      return legs.get(call_ref)?.leg ?? null;
    },
    /** Whether a token lets a client come back. */
    knows: (token: string): boolean => tokens.get(sha256(token)) !== undefined,
    /** A new token for a session that waits for its client, or is under way here. SESSION_OVER. */
    async reissue(call_ref: string): Promise<MediaAddress> {
      const awaited = { provider: BROWSER, ttl_seconds: MEDIA_TOKEN_SECONDS } as const;
      const address = addresses.issue(call_ref, awaited);
      const hash = sha256(address.token);
      const here = legs.get(call_ref);
      if (here) {
        tokens.delete(here.token_hash);
        tokens.set(hash, call_ref);
        here.token_hash = hash;
        return address;
      }
      const renewed = await sessions.renew(call_ref, hash, MEDIA_TOKEN_SECONDS, clock.now());
      if (!renewed) return fail("SESSION_OVER", "The session has ended, or is about to.");
      prepared.add({ ...renewed, token_hash: hash, ttl_seconds: MEDIA_TOKEN_SECONDS });
      return address;
    },
  };
}

/** The sessions of browsers of a process. */
export type BrowserSessions = ReturnType<typeof browserSessions>;
