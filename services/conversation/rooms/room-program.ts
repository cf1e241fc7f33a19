import { dispose } from "@livekit/rtc-node";
import { systemClock } from "../../../shared/time/clock.ts";
import { AgentRoom } from "./agent-room.ts";
import { ROOM_FRAME_MS } from "./room-playout.ts";
import type { RoomNews, RoomOrder } from "./room-messages.ts";

/**
 * A process of LiveKit rooms: the native library shares its memory and its event loop with nothing but the few rooms in it. Told by its parent, over a channel of bounded length, what to do;
 * ends when the parent has gone.
 */
/** After a longer standstill the missed frames are dropped. */
const MAX_BEHIND_MS = 50;
/** Messages that wait for the parent; sound beyond is dropped: it would be late. */
const MAX_UNSENT = 1000;

const clock = systemClock;
const rooms = new Map<string, AgentRoom>();
let unsent = 0;

function tell(news: RoomNews): void {
  if (news.kind === "audio" && unsent >= MAX_UNSENT) return;
  if (!process.connected) return;
  unsent++;
  process.send?.(news, () => {
    unsent--;
  });
}

async function open({ id, url, token }: Extract<RoomOrder, { kind: "open" }>): Promise<void> {
  const room = new AgentRoom(clock, (news) => {
    if (rooms.get(id) === room) tell({ ...news, id });
  });
  rooms.set(id, room);
  // the library's errors carry the token
  await room.open(url, token).catch(() => tell({ kind: "lost", id, replaced: false, why: "not joined" }));
}

async function close(id: string): Promise<void> {
  const room = rooms.get(id);
  rooms.delete(id);
  await room?.close();
  tell({ kind: "closed", id });
}

async function end(): Promise<void> {
  await Promise.all([...rooms.keys()].map(close));
  await dispose();
  process.exit(0);
}

async function beat(): Promise<void> {
  let next = clock.monotonicMs();
  for (;;) {
    for (const room of rooms.values()) room.tick();
    next += ROOM_FRAME_MS;
    const now = clock.monotonicMs();
    if (now - next > MAX_BEHIND_MS) next = now;
    await clock.wait(next - now);
  }
}

process.on("message", (order: RoomOrder) => {
  if (order.kind === "open") void open(order);
  else if (order.kind === "close") void close(order.id);
  else rooms.get(order.id)?.take(order);
});
process.on("disconnect", () => void end());
// what the library rejects on its own does not end the other rooms
process.on("unhandledRejection", () => undefined);
void beat();
tell({ kind: "ready" });
