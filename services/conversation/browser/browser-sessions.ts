import { recencyCache } from "../../../shared/cache.ts";
import { BROWSER, MEDIA_TOKEN_SECONDS, roomOf, type MediaAccess } from "../../../shared/contracts/records/session.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { fail } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";
import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import { BrowserLeg, type BrowserSocket } from "./browser-leg.ts";
import type { MediaAddresses } from "./media-addresses.ts";
import type { RoomSessions } from "../rooms/room-sessions.ts";
import type { PreparedSessions } from "../session/prepared-sessions.ts";
import type { SessionsRepository } from "../session/sessions.repository.ts";

/** What the sessions of browsers are kept with. `most`: sessions at once. */
export interface BrowserSessionsDeps {
  clock: Clock;
  sessions: Pick<SessionsRepository, "renew">;
  prepared: Pick<PreparedSessions, "add">;
  addresses: MediaAddresses;
  most: number;
  /** The rooms of this process; null: it has none. */
  rooms: Pick<RoomSessions, "expect" | "has" | "drop"> | null;
}

/** The sessions of browsers in this process: their legs, and the tokens by which a client comes back. */
export function browserSessions({ clock, sessions, prepared, addresses, most, rooms }: BrowserSessionsDeps) {
  const legs = new Map<string, { leg: BrowserLeg; token_hash: string }>();
  const tokens = recencyCache<string>({ max: most, ttl: { ms: MEDIA_TOKEN_SECONDS * MS_PER_SECOND, clock } });
  return {
    /** The leg of a session whose client is here. `ended`: it is over. */
    begin(call_ref: string, socket: BrowserSocket, ended: () => void = () => undefined): BrowserLeg {
      const leg = new BrowserLeg(clock, roomOf(call_ref), () => {
        legs.delete(call_ref);
        ended();
      });
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
    /** The client of a session under way here is back. */
    attach: (call_ref: string, socket: BrowserSocket): void => legs.get(call_ref)?.leg.attach(socket),
    /** Whether a token lets a client come back. */
    knows: (token: string): boolean => tokens.get(sha256(token)) !== undefined,
    /** A new token for a session that waits for its client, or is under way here. SESSION_OVER. */
    async reissue({ call_ref, via }: ParamsOf<"conversation.reissue">): Promise<MediaAccess> {
      // a session that was begun over the WebSocket has nobody in a room
      const isOnSocket = via !== undefined || (legs.has(call_ref) && !rooms?.has(call_ref));
      // nor does anybody come who could not be in it
      if (isOnSocket) rooms?.drop(call_ref);
      const awaited = { provider: BROWSER, ttl_seconds: MEDIA_TOKEN_SECONDS } as const;
      const address = await addresses.issue(call_ref, isOnSocket ? { ...awaited, via: "websocket" } : awaited);
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
      if (address.transport === "livekit") rooms?.expect(call_ref, address.token);
      prepared.add({ ...renewed, token_hash: hash, ttl_seconds: MEDIA_TOKEN_SECONDS });
      return address;
    },
  };
}

/** The sessions of browsers of a process. */
export type BrowserSessions = ReturnType<typeof browserSessions>;
