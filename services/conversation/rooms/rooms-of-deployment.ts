import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { BROWSER } from "../../../shared/contracts/records/session.ts";
import { livekitAccount, livekitRooms } from "../../../shared/livekit/rooms.ts";
import type { BrowserSessions } from "../browser/browser-sessions.ts";
import type { MediaAddressesDeps } from "../browser/media-addresses.ts";
import type { BrowserSocket } from "../browser/browser-leg.ts";
import type { LiveConversations, MediaAttachment } from "../session/live-conversations.ts";
import type { PlannedSession } from "../session/sessions.model.ts";
import { startRoomProcess } from "./room-process.ts";
import { roomSessions, type RoomSessions } from "./room-sessions.ts";
import { RoomWorkers } from "./room-workers.ts";

/** What rooms lead to: the conversations of this process. */
export interface RoomHosts {
  conversations: Pick<LiveConversations, "admit" | "run">;
  browsers: Pick<BrowserSessions, "attach">;
  attach(socket: BrowserSocket, doc: PlannedSession, ended: () => void): MediaAttachment;
}

/** The LiveKit rooms of a deployment: where clients are sent, and our side of them; null: it has none, and sessions come to the media server. */
export function roomsOfDeployment(
  { env, clock, ids, log }: Pick<ServiceDeps, "env" | "clock" | "ids" | "log">,
  hosts: () => RoomHosts,
): { sessions: RoomSessions; livekit: NonNullable<MediaAddressesDeps["livekit"]> } | null {
  const account = livekitAccount(env);
  if (account === null) return null;
  const rooms = livekitRooms(account);
  const workers = new RoomWorkers({
    clock,
    ids,
    log,
    start: startRoomProcess,
    workers: env.LIVEKIT_WORKERS,
    rooms: env.LIVEKIT_ROOMS_PER_WORKER,
    sessions: env.LIVEKIT_SESSIONS_PER_WORKER,
  });
  const sessions = roomSessions({
    clock,
    log,
    account,
    rooms,
    workers,
    async enter(token, socket, ended) {
      const { conversations, attach } = hosts();
      const admission = await conversations.admit({ provider: BROWSER, token, path: "", headers: {} });
      const doc = admission && (admission.session ?? admission.planned);
      if (!doc) return false;
      void conversations.run(attach(socket, doc, ended), admission);
      return true;
    },
    attach: (call_ref, socket) => hosts().browsers.attach(call_ref, socket),
  });
  return { sessions, livekit: { rooms, public_url: account.public_url } };
}
