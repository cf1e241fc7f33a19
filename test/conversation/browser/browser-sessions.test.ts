import { expect, test } from "@jest/globals";
import { browserSessions } from "../../../services/conversation/browser/browser-sessions.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const REF = "7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00.1";

/** The sessions of a process in which one waits in its room. */
function inRoom() {
  const asked: string[] = [];
  const rooms = new Set([REF]);
  const sessions = browserSessions({
    clock: virtualClock(),
    sessions: {
      renew: async () => ({ _id: REF, engine: "cascade" }) as never,
    },
    prepared: { add: () => undefined },
    addresses: {
      issue: async (_ref, { via }) => ({ transport: via ?? "livekit", media_url: "ws://x", token: via ?? "livekit" }),
    },
    most: 1,
    rooms: {
      expect: () => void asked.push("expected in its room"),
      has: (ref) => rooms.has(ref),
      drop: (ref) => void (rooms.delete(ref) && asked.push("room ended")),
    },
  });
  return { sessions, asked };
}

test("a client that was in no room, and could not enter one, comes by WebSocket, and its room ends", async () => {
  const { sessions, asked } = inRoom();
  expect((await sessions.reissue({ call_ref: REF })).transport).toBe("livekit");
  expect(asked.splice(0)).toEqual(["expected in its room"]);
  expect((await sessions.reissue({ call_ref: REF, via: "websocket" })).transport).toBe("websocket");
  expect(asked).toEqual(["room ended"]);
});
