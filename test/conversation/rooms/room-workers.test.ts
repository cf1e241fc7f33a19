import { beforeEach, describe, expect, test } from "@jest/globals";
import { codeOf } from "../../../shared/errors.ts";
import { RoomWorkers } from "../../../services/conversation/rooms/room-workers.ts";
import { countedIds, silentLog, StandInProcesses } from "./fixtures/stand-in-processes.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

let clock = virtualClock();
let processes: StandInProcesses;
let workers: RoomWorkers;
let told: string[] = [];
const setUp = (over: { workers?: number; rooms?: number; sessions?: number } = {}): void => {
  workers = new RoomWorkers({
    clock,
    ids: countedIds(),
    log: silentLog,
    start: processes.start,
    workers: 2,
    rooms: 2,
    sessions: 4,
    ...over,
  });
};
beforeEach(async () => {
  clock = virtualClock();
  processes = new StandInProcesses();
  told = [];
  setUp();
  const started = workers.start();
  processes.ready();
  await started;
});
const join = (name: string) => workers.join("ws://x", "t", (news) => void told.push(`${name} ${news.kind}`));

describe("the processes of rooms", () => {
  test("hold a few rooms each, with one standing by, and no more than they may", () => {
    expect(processes.rooms()).toEqual([0]);
    join("a");
    processes.ready();
    join("b");
    expect(processes.rooms()).toEqual([2, 0]);
    join("c");
    const last = join("d");
    expect([processes.rooms(), workers.isFull()]).toEqual([[2, 2, 0], true]);
    last.close();
    expect([processes.rooms(), workers.isFull()]).toEqual([[2, 1, 0], false]);
  });

  test("that die tell every room of theirs that it is lost, and another is started", () => {
    join("a");
    join("b");
    processes.ready();
    processes.die(0);
    expect(told).toEqual(["a lost", "b lost"]);
    expect(workers.isFull()).toBe(false);
    join("a again");
    processes.ready();
    expect(processes.rooms()).toEqual([1, 0]);
  });

  test("end after their share of rooms, once the last has left, and take no more before", async () => {
    for (const name of ["a", "b", "c"]) join(name).close();
    const last = join("d");
    processes.ready();
    join("e");
    expect(processes.rooms()).toEqual([1, 1, 0]);
    last.close();
    expect(processes.all[0]?.ended).toBe(true);
    await clock.advance(5000);
    expect(processes.all[0]?.killed).toBe(true);
  });

  test("drop what comes of a room that was left, and tell that one is lost once", () => {
    const stay = join("a");
    processes.tell(0, { kind: "here" });
    stay.close();
    processes.tell(0, { kind: "lost", replaced: false, why: "x" });
    expect(told).toEqual(["a here"]);
  });

  test("that never come up are named with what is missing", async () => {
    processes = new StandInProcesses();
    setUp();
    const started = workers.start().catch((error: unknown) => `${codeOf(error)} ${String(error)}`);
    processes.die(0);
    await clock.advance(20_000);
    await clock.advance(10_000);
    expect(await started).toMatch(/NOT_AVAILABLE.*@livekit\/rtc-node/);
  });
});
