import { beforeEach, describe, expect, test } from "@jest/globals";
import { RoomPlayout } from "../../../services/conversation/rooms/room-playout.ts";

const RATE = 16_000;
/** 20 ms whose every sample has this value. */
const frame = (value: number): Uint8Array => new Uint8Array(new Int16Array(320).fill(value).buffer);
let out: RoomPlayout;
let given: number[] = [];
let seen: (string | number)[] = [];
beforeEach(() => {
  given = [];
  seen = [];
  out = new RoomPlayout({
    rate: RATE,
    capture: (pcm) => {
      expect([pcm.length, pcm.byteOffset]).toEqual([160, 0]); // the library reads from the start of the buffer
      given.push(pcm[0] ?? 0);
    },
    drop: () => void seen.push("drop"),
    played: (name) => void seen.push(name),
  });
});
const runTo = (from: number, until: number): void => {
  for (let now = from; now <= until; now += 10) out.tick(now);
};

describe("sound on its way into a room", () => {
  test("is given to the source 10 ms at a time, at most 30 ms ahead, however much came at once", () => {
    for (let i = 1; i <= 10; i++) out.add(frame(i));
    out.tick(0);
    expect(given).toEqual([1, 1, 2]);
    runTo(10, 100);
    expect(given).toHaveLength(13);
  });

  test("returns a mark when what came before it was played, not when it was given", () => {
    out.add(frame(1));
    out.mark("a");
    runTo(0, 10);
    expect([given.length, seen]).toEqual([2, []]);
    out.tick(20);
    expect(seen).toEqual(["a"]);
  });

  test("is taken back by a clear, its marks too; what comes after it is played at once", () => {
    out.add(frame(1));
    out.add(frame(2));
    out.mark("a");
    out.tick(0);
    out.clear(5);
    out.add(frame(3));
    runTo(10, 100);
    expect([given, seen]).toEqual([[1, 1, 2, 3, 3], ["drop"]]);
  });

  test("beyond a second is dropped", () => {
    for (let i = 0; i < 100; i++) out.add(frame(i));
    runTo(0, 3000);
    expect(given).toHaveLength(100);
  });
});
