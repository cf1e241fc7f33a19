import { AccessToken, RoomServiceClient, TrackSource } from "livekit-server-sdk";
import { fail } from "../errors.ts";
import type { RoomEnv } from "../process/room-variables.ts";

/** Where a LiveKit server is and who we are there. `public_url`: how clients reach it. */
export interface LivekitAccount {
  url: string;
  public_url: string;
  key: string;
  secret: string;
}

/** The account of an environment; null: it has none. */
export function livekitAccount(env: RoomEnv): LivekitAccount | null {
  const { LIVEKIT_URL: url, LIVEKIT_API_KEY: key, LIVEKIT_API_SECRET: secret } = env;
  if (url === undefined || key === undefined || secret === undefined) return null;
  return { url, public_url: env.LIVEKIT_PUBLIC_URL ?? url, key, secret };
}

/** The rooms of a LiveKit server. Every request has a time limit and fails with DEPENDENCY_DOWN, without a word of the library's: its texts carry tokens. */
export interface LivekitRooms {
  /** Makes the room; one that is there is kept. */
  create(room: string): Promise<void>;
  /** Puts everybody out and ends the room. One that is gone is no error. */
  remove(room: string, identities: readonly string[]): Promise<void>;
  /** Who is in the room; none where there is no such room. */
  identities(room: string): Promise<string[]>;
  /** What one participant joins one room with, for `seconds`: to publish a microphone, subscribe, and exchange data; nothing else. */
  token(room: string, identity: string, seconds: number): Promise<string>;
}

/** Longest request to the server, seconds. */
const REQUEST_SECONDS = 5;
/** A room that nobody enters, or that everybody has left, ends by itself, seconds: longer than a client's way in, and than a lost agent's way back. */
const EMPTY_SECONDS = 150;
const DEPARTURE_SECONDS = 30;

/** Whether the server says that there is no such room or participant. */
const isMissing = (error: unknown): boolean => error instanceof Error && "status" in error && error.status === 404;

const refused = (what: string, error: unknown): never => {
  const status = error instanceof Error && "status" in error ? ` (status ${String(error.status)})` : "";
  return fail("DEPENDENCY_DOWN", `The LiveKit server did not ${what}${status}.`, { retry_after_seconds: 2 });
};

/** The rooms of an account's server. */
export function livekitRooms({ url, key, secret }: LivekitAccount): LivekitRooms {
  const service = new RoomServiceClient(url, key, secret, { requestTimeout: REQUEST_SECONDS });
  return {
    async create(name) {
      await service
        .createRoom({ name, emptyTimeout: EMPTY_SECONDS, departureTimeout: DEPARTURE_SECONDS })
        .catch((error: unknown) => refused("make a room", error));
    },
    async remove(room, identities) {
      for (const identity of identities)
        await service
          .removeParticipant(room, identity)
          .catch((error: unknown) => isMissing(error) || refused("remove a participant", error));
      await service.deleteRoom(room).catch((error: unknown) => isMissing(error) || refused("delete a room", error));
    },
    async identities(room) {
      const there = await service
        .listParticipants(room)
        .catch((error: unknown) => (isMissing(error) ? [] : refused("list participants", error)));
      return there.map(({ identity }) => identity);
    },
    token(room, identity, seconds) {
      const token = new AccessToken(key, secret, { identity, ttl: seconds });
      token.addGrant({
        room,
        roomJoin: true,
        canPublish: true,
        canPublishSources: [TrackSource.MICROPHONE],
        canSubscribe: true,
        canPublishData: true,
        canUpdateOwnMetadata: false,
      });
      return token.toJwt();
    },
  };
}
