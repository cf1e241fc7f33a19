import { beforeEach, describe, expect, test } from "@jest/globals";
import { RoomPlayout } from "../../../services/conversation/rooms/room-playout.ts";

const RATE = 16_000;
/** 20 ms whose every sample has this value. */
const frame = (value: number): Uint8Array => new Uint8Array(new Int16Array(320).fill(value).buffer);
let out: RoomPlayout;
let given: number[] = [];
let seen: string[] = [];
beforeEach(() => {
  given = [];
  seen = [];
  out = new RoomPlayout({
    rate: RATE,
    capture: (pcm) => {
      expect([pcm.length, pcm.byteOffset]).toEqual([160, 0]); // the library reads from the start of the buffer
      given.push(pcm[0] ?? 0);
    },
    played: (name) => void seen.push(name),
  });
});
const tick = (times: number): void => {
  for (let i = 0; i < times; i++) out.tick();
};

describe("sound on its way into a room", () => {
  test("is given to the source 10 ms at a time, in real time, however much came at once; silence where there is none", () => {
    tick(1);
    for (let i = 1; i <= 2; i++) out.add(frame(i));
    tick(6);
    expect(given).toEqual([0, 1, 1, 2, 2, 0, 0]);
  });

  test("returns a mark when what came before it was played, not when it was given", () => {
    out.add(frame(1));
    out.mark("a");
    out.mark("b");
    tick(2);
    expect([given.length, seen]).toEqual([2, []]);
    tick(1);
    expect(seen).toEqual(["a", "b"]);
  });

  test("is taken back by a clear, its marks too; what comes after it is played at once", () => {
    out.add(frame(1));
    out.add(frame(2));
    out.mark("a");
    tick(1);
    out.clear();
    out.add(frame(3));
    tick(3);
    expect([given, seen]).toEqual([[1, 3, 3, 0], []]);
  });

  test("beyond a second is dropped", () => {
    for (let i = 1; i <= 100; i++) out.add(frame(i));
    tick(200);
    expect(given.filter((value) => value > 0)).toHaveLength(100);
  });
});
