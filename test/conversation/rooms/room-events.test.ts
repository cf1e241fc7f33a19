import { Room } from "@livekit/rtc-node";
import { spareSound } from "../../../services/conversation/rooms/room-events.ts";

/** A room as LiveKit's library has it: one function of its own takes all events. */
class ToldRoom {
  readonly told: unknown[] = [];
  onFfiEvent = (event: unknown): Promise<void> => {
    this.told.push(event);
    return Promise.resolve();
  };
}
const event = (name: string) => ({ message: { case: name, value: {} } });

test("a room is told of everything but sound", async () => {
  const room = new ToldRoom();
  spareSound(room);
  for (const name of ["audioStreamEvent", "roomEvent", "captureAudioFrame", "rpcMethodInvocation", "disconnect"])
    await room.onFfiEvent(event(name));
  expect(room.told).toEqual(["roomEvent", "rpcMethodInvocation", "disconnect"].map(event));
});
test("a room of another kind stays as it is", () => {
  const room = { told: () => "told" };
  spareSound(room);
  expect(room).toEqual({ told: room.told });
});
test("the library's rooms are of that kind, and are spared", () => {
  const room = new Room();
  const take: unknown = Reflect.get(room, "onFfiEvent");
  expect(typeof take).toBe("function");
  spareSound(room);
  expect(Reflect.get(room, "onFfiEvent")).not.toBe(take);
});
