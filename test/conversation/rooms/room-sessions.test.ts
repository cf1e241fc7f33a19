import { beforeEach, describe, expect, test } from "@jest/globals";
import { BrowserLeg, NO_MEDIA_MS, RESUME_MS } from "../../../services/conversation/browser/browser-leg.ts";
import type { BrowserSocket } from "../../../services/conversation/browser/browser-leg.ts";
import type { StayNews } from "../../../services/conversation/rooms/room-messages.ts";
import { roomSessions, type RoomSessions } from "../../../services/conversation/rooms/room-sessions.ts";
import { RoomWorkers } from "../../../services/conversation/rooms/room-workers.ts";
import { fail } from "../../../shared/errors.ts";
import { countedIds, silentLog, StandInProcesses } from "./fixtures/stand-in-processes.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const REF = "7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00.1";
const FRAME = new Uint8Array(640);
let clock = virtualClock();
let processes: StandInProcesses;
let sessions: RoomSessions;
/** What the server was asked for, and what the leg told its conversation. */
let asked: string[] = [];
let seen: string[] = [];
let leg: BrowserLeg | null = null;
let there: string[] = [];
let isOurs = true;
let serverIsUp = true;

const must = (what: string): Promise<void> => {
  asked.push(what);
  return serverIsUp ? Promise.resolve() : Promise.reject(new Error("down"));
};
beforeEach(async () => {
  clock = virtualClock();
  processes = new StandInProcesses();
  [asked, seen, there, leg, isOurs, serverIsUp] = [[], [], ["agent", "client"], null, true, true];
  const workers = new RoomWorkers({
    clock,
    ids: countedIds(),
    log: silentLog,
    start: processes.start,
    workers: 1,
    rooms: 2,
    sessions: 10,
  });
  sessions = roomSessions({
    clock,
    log: silentLog,
    account: { url: "ws://x" },
    workers,
    rooms: {
      create: () => must("create"),
      remove: () => must("remove"),
      identities: async () => there,
      token: async (_room, identity) => `token of ${identity}`,
    },
    async enter(token: string, socket: BrowserSocket, ended) {
      if (!isOurs) return false;
      if (token === "broken") fail("BUSY", "no");
      leg = new BrowserLeg(clock, "room", ended);
      leg.attach(socket);
      leg.listen({
        ready: () => void seen.push("ready"),
        audio: () => void seen.push("audio"),
        digit: (key) => void seen.push(`digit ${key}`),
        mark: (name, how) => void seen.push(`mark ${name} ${how}`),
        fault: () => void seen.push("fault"),
        refused: (code) => void seen.push(`refused ${code}`),
        closed: (how) => void seen.push(`closed ${how}`),
      });
      return true;
    },
    attach: (_call_ref, socket) => leg?.attach(socket),
  });
  const started = sessions.start();
  processes.ready();
  await started;
});
const settle = () => clock.advance(0);
const tell = async (news: StayNews, process = 0): Promise<void> => {
  processes.tell(process, news, "latest");
  await settle();
};
const orders = (process = 0): string[] => processes.all[process]?.orders.map(({ kind }) => kind) ?? [];
const sent = (process = 0): unknown[] =>
  processes.all[process]?.orders.flatMap((o) => (o.kind === "text" ? [JSON.parse(o.text)["type"]] : [])) ?? [];
async function begun(): Promise<void> {
  sessions.expect(REF, "t");
  await settle();
  processes.ready();
  await tell({ kind: "here" });
}

describe("a session in a room", () => {
  test("waits in its room for the client, greets it when it hears us, and exchanges sound, marks and words", async () => {
    sessions.expect(REF, "t");
    await settle();
    expect([orders(), seen]).toEqual([["open"], []]);
    await tell({ kind: "here" });
    await tell({ kind: "audio", pcm: FRAME });
    await tell({ kind: "text", text: '{"type":"digit","name":"5"}' });
    leg?.write(FRAME);
    leg?.mark("m");
    await tell({ kind: "mark", name: "m" });
    leg?.clear();
    expect(seen).toEqual(["ready", "audio", "digit 5", "mark m played"]);
    expect(orders()).toEqual(["open", "text", "audio", "mark", "clear", "text"]);
    expect(sent()).toEqual(["hello", "clear"]);
  });

  test("ends with its leg: the last words are heard behind a jitter buffer of half a second, then we leave, and the room is removed", async () => {
    await begun();
    leg?.close();
    await settle();
    expect([seen.at(-1), sent().at(-1), asked]).toEqual(["closed closed", "end", []]);
    await clock.advance(500);
    expect(orders().at(-1)).toBe("text");
    await clock.advance(200);
    expect([orders().at(-1), asked]).toEqual(["close", ["remove"]]);
  });

  test("that nobody joins is over with its token, and one that got another token waits on", async () => {
    sessions.expect(REF, "t");
    await clock.advance(100_000);
    sessions.expect(REF, "u");
    await clock.advance(100_000);
    expect(asked).toEqual([]);
    await clock.advance(30_000);
    await clock.advance(700);
    expect([asked, orders()]).toEqual([["remove"], ["open", "close"]]);
  });

  test("goes on where its client is back within 5 s, and else ends as its client left", async () => {
    await begun();
    await tell({ kind: "left", inOrder: true });
    await clock.advance(RESUME_MS - 1000);
    await tell({ kind: "here" });
    await clock.advance(RESUME_MS);
    expect(seen).toEqual(["ready"]);
    await tell({ kind: "left", inOrder: false });
    await clock.advance(RESUME_MS);
    expect(seen.at(-1)).toBe("closed broken");
  });

  test("ends as a broken line after 15 s without sound", async () => {
    await begun();
    for (let ms = 0; ms <= NO_MEDIA_MS; ms += 1000) await clock.advance(1000);
    expect(seen).toEqual(["ready", "closed broken"]);
  });

  test("goes on in the process that stands by when its own dies, under a new token for us", async () => {
    await begun();
    processes.die(0);
    await settle();
    await settle();
    expect(orders(1)).toEqual(["open"]);
    await tell({ kind: "here" }, 1);
    leg?.write(FRAME);
    expect([orders(1).at(-1), seen]).toEqual(["audio", ["ready"]]);
  });

  test("joins again when the server put us out, as soon as the server is back; the room is made again", async () => {
    await begun();
    serverIsUp = false;
    await tell({ kind: "lost", replaced: false, why: "SERVER_SHUTDOWN" });
    await clock.advance(300);
    await clock.advance(300);
    expect(asked.length).toBeGreaterThan(0);
    expect(orders().filter((kind) => kind === "open")).toHaveLength(1);
    serverIsUp = true;
    await clock.advance(2000);
    await settle();
    expect(orders().filter((kind) => kind === "open")).toHaveLength(2);
  });

  test("that another process has taken over is left alone", async () => {
    sessions.expect(REF, "t");
    await settle();
    await tell({ kind: "lost", replaced: true, why: "DUPLICATE_IDENTITY" });
    await clock.advance(200_000);
    expect(asked).toEqual([]);
  });

  test.each([
    ["is over already", false, "t"],
    ["can't be begun", true, "broken"],
  ])("that %s ends its room", async (_what, ours, token) => {
    isOurs = ours;
    sessions.expect(REF, token);
    await settle();
    await tell({ kind: "here" });
    await clock.advance(700);
    expect(asked).toEqual(["remove"]);
  });

  test("whose client has left without a word of the server is looked for, twice, then ends", async () => {
    await begun();
    there = ["agent"];
    for (let ms = 0; ms < 4; ms++) {
      await tell({ kind: "audio", pcm: FRAME });
      await clock.advance(10_000);
    }
    expect(seen.at(-1)).toBe("closed broken");
  });

  test("takes one of the places there are, until it is over", async () => {
    await begun();
    expect(sessions.isFull()).toBe(false);
    sessions.expect(`${REF}0`, "t");
    await settle();
    expect(sessions.isFull()).toBe(true);
    sessions.drop(`${REF}0`);
    await clock.advance(700);
    expect(sessions.isFull()).toBe(false);
  });
});
