import { createHmac } from "node:crypto";
import { BROWSER, roomOf, type MediaAccess, type MediaSource } from "../../../shared/contracts/records/session.ts";
import type { LivekitRooms } from "../../../shared/livekit/rooms.ts";
import type { Ids } from "../../../shared/ids.ts";
import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import { CLIENT_IDENTITY } from "../rooms/room-messages.ts";
import { BROWSER_PATH, mediaPath } from "../transport/media-server.ts";

/** Whose media are awaited, and for how long. */
interface Awaited {
  provider: MediaSource;
  ttl_seconds: number;
  /** The client comes by WebSocket, whatever the deployment has. */
  via?: "websocket";
}

/** What addresses are made with. `url`: where the media server is found. `livekit`: the rooms that browsers are sent to, and where clients find them; null: they come to the media server. */
export interface MediaAddressesDeps {
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex">;
  url(): string;
  livekit: { rooms: Pick<LivekitRooms, "create" | "token">; public_url: string } | null;
}

/** Gives media their addresses. */
export interface MediaAddresses {
  /** DEPENDENCY_DOWN where the room can't be made. */
  issue(call_ref: string, awaited: Awaited): Promise<MediaAccess>;
}

const TOKEN_BYTES = 16;
const KEY_BYTES = 32;

const part = (of: object): string => Buffer.from(JSON.stringify(of)).toString("base64url");
const HEADER = part({ alg: "HS256", typ: "JWT" });

/** The claims of a session's token, of the shape of LiveKit's: join one room, publish the microphone, hear, exchange data. */
function claimsOf(call_ref: string, id: string, now: Date, ttl_seconds: number): object {
  const nbf = Math.floor(now.getTime() / MS_PER_SECOND);
  const video = {
    room: roomOf(call_ref),
    roomJoin: true,
    canPublish: true,
    canPublishSources: ["microphone"],
    canSubscribe: true,
    canPublishData: true,
  };
  return { iss: "callagent", sub: "client", jti: id, nbf, exp: nbf + ttl_seconds, video };
}

/**
 * Addresses with one-use tokens: a carrier's has it in the path; a browser's is a JWT, which it shows in a header. Both are known by their hash alone, on every node; so the JWT's
 * signature is of a key that nobody else needs.
 */
export function mediaAddresses({ clock, ids, url, livekit }: MediaAddressesDeps): MediaAddresses {
  const key = ids.hex(KEY_BYTES);
  return {
    async issue(call_ref, { provider, ttl_seconds, via }) {
      const id = ids.hex(TOKEN_BYTES);
      if (provider !== BROWSER) return { media_url: `${url()}${mediaPath(provider, id)}`, token: id };
      if (livekit && via !== "websocket") {
        const { rooms, public_url } = livekit;
        const room = roomOf(call_ref);
        // before the token: else a client would make the room, with settings of its own
        await rooms.create(room);
        const token = await rooms.token(room, CLIENT_IDENTITY, ttl_seconds);
        return { transport: "livekit", media_url: public_url, token };
      }
      const signed = `${HEADER}.${part(claimsOf(call_ref, id, clock.now(), ttl_seconds))}`;
      const token = `${signed}.${createHmac("sha256", key).update(signed).digest("base64url")}`;
      return { media_url: `${url()}${BROWSER_PATH}`, token };
    },
  };
}
