import { WebhookReceiver } from "livekit-server-sdk";
import { fail } from "../errors.ts";
import type { LivekitAccount } from "./rooms.ts";

/** What the LiveKit server tells of a room: a hint that something changed there. `id`: the same when it is told again. */
export interface RoomNotice {
  id: string;
  event: string;
  room: string;
}

/** Reads what comes as the server's notice: signed with our key, body and all. UNAUTHENTICATED where it is not. */
export function roomNotices({ key, secret }: Pick<LivekitAccount, "key" | "secret">) {
  const receiver = new WebhookReceiver(key, secret);
  return async (body: string, authorization: string | undefined): Promise<RoomNotice> => {
    const told = await receiver.receive(body, authorization).catch(() => null);
    if (told === null) fail("UNAUTHENTICATED", "The request is not signed with this deployment's LiveKit key.");
    return { id: told.id, event: told.event, room: told.room?.name ?? "" };
  };
}
