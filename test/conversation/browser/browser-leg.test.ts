import { beforeEach, describe, expect, test } from "@jest/globals";
import { EventEmitter } from "node:events";
import { BrowserLeg, NO_MEDIA_MS, RESUME_MS } from "../../../services/conversation/browser/browser-leg.ts";
import { MAX_WAITING } from "../../../services/conversation/browser/utterances.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

/** A socket of which a test sees what was sent. */
class Socket extends EventEmitter {
  bufferedAmount = 0;
  readonly sent: (Record<string, unknown> | Uint8Array)[] = [];
  closedWith: number | string | undefined;
  send(data: string | Uint8Array): void {
    this.sent.push(typeof data === "string" ? (JSON.parse(data) as Record<string, unknown>) : data);
  }
  close(code?: number): void {
    this.closedWith = code;
    this.emit("close", code);
  }
  terminate(): void {
    this.closedWith = "terminated";
    this.emit("close", 1006);
  }
  get(message: object): void {
    this.emit("message", Buffer.from(JSON.stringify(message)), false);
  }
  types(): unknown[] {
    return this.sent.map((item) => (item instanceof Uint8Array ? "sound" : item["type"]));
  }
}

const FRAME = Buffer.alloc(640);
let clock = virtualClock();
let seen: unknown[][] = [];
let ended = 0;
let leg: BrowserLeg;
let socket: Socket;
const joined = (): Socket => {
  const next = new Socket();
  leg.attach(next);
  return next;
};
beforeEach(() => {
  clock = virtualClock();
  seen = [];
  ended = 0;
  leg = new BrowserLeg(clock, "rtc-room", () => void ended++);
  leg.listen({
    ready: (id, format) => void seen.push(["ready", id, format.codec, format.rate]),
    audio: (bytes) => void seen.push(["audio", bytes.byteLength]),
    digit: (digit) => void seen.push(["digit", digit]),
    typed: (text) => void seen.push(["typed", text]),
    mark: (name, how) => void seen.push(["mark", name, how]),
    fault: () => void seen.push(["fault"]),
    refused: (code) => void seen.push(["refused", code]),
    closed: (how) => void seen.push(["closed", how]),
  });
  socket = joined();
});

describe("a session's leg", () => {
  test("begins with the client's start, takes its sound and keys, and sends sound, marks and clears", () => {
    socket.emit("message", FRAME, true); // before the start
    socket.get({ type: "start" });
    socket.emit("message", FRAME, true);
    socket.get({ type: "digit", name: "5" });
    leg.write(FRAME);
    leg.mark("a");
    socket.get({ type: "mark", name: "a" });
    socket.get({ type: "ping" });
    leg.mark("b");
    leg.clear();
    expect(seen).toEqual([
      ["ready", "rtc-room", "s16le", 16_000],
      ["audio", 640],
      ["digit", "5"],
      ["mark", "a", "played"],
      ["mark", "b", "cleared"],
    ]);
    expect(socket.types()).toEqual(["hello", "sound", "mark", "pong", "mark", "clear"]);
  });

  test.each([
    ["an odd number of bytes", Buffer.alloc(641), true],
    ["a frame that is too long", Buffer.alloc(12_800), true],
    ["no JSON", Buffer.from("{"), false],
    ["an unknown message", Buffer.from('{"type":"admin"}'), false],
  ])("reports %s and goes on", (_what, data, isBinary) => {
    socket.get({ type: "start" });
    socket.emit("message", data, isBinary);
    socket.emit("message", FRAME, true);
    expect(seen.slice(1)).toEqual([["fault"], ["audio", 640]]);
  });

  test("takes words that were typed, bounded in length and number, once it has begun", async () => {
    socket.get({ type: "say", text: "too early" });
    socket.get({ type: "start" });
    socket.get({ type: "say", text: "  Yes, please. " });
    for (const text of ["", "   ", "x".repeat(1001), 7]) socket.get({ type: "say", text });
    const faults = Array.from({ length: 5 }, () => ["fault"]);
    expect(seen).toEqual([
      ["fault"],
      ["ready", "rtc-room", "s16le", 16_000],
      ["typed", "Yes, please."],
      ...faults.slice(1),
    ]);
    for (let i = 0; i < 30; i++) socket.get({ type: "say", text: `${i}` });
    expect(seen.filter(([what]) => what === "typed")).toHaveLength(20);
    await clock.advance(10_000);
    socket.get({ type: "say", text: "later" });
    expect(seen.at(-1)).toEqual(["typed", "later"]);
  });

  test("shows only the lines that changed, and all of them to who comes back", () => {
    leg.show([{ role: "assistant", content: "Hello" }], "ask");
    leg.show([{ role: "assistant", content: "Hello" }, { role: "user", content: "Yes" }], "ask"); // prettier-ignore
    expect(socket.sent.slice(1)).toEqual([
      { type: "transcript", from: 0, lines: [{ role: "assistant", content: "Hello" }] },
      { type: "node", name: "ask" },
      { type: "transcript", from: 1, lines: [{ role: "user", content: "Yes" }] },
    ]);
    socket.close(1001);
    expect(joined().types()).toEqual(["hello", "transcript", "node"]);
  });

  test("a client that missed what was sent before it could be reached gets it again by its own start, once", () => {
    socket.get({ type: "start" });
    leg.show([{ role: "assistant", content: "Hello" }], "ask");
    socket.close(1001);
    const back = joined();
    for (let starts = 0; starts < 4; starts++) back.get({ type: "start" });
    const shown = ["hello", "transcript", "node"];
    expect([back.types(), seen.filter(([what]) => what === "ready").length]).toEqual([[...shown, ...shown], 1]);
  });

  test("a page that is loaded again within 5 s goes on; the socket before gives way to a second one", async () => {
    socket.get({ type: "start" });
    socket.close(1001);
    await clock.advance(RESUME_MS - 1);
    const second = joined();
    await clock.advance(RESUME_MS);
    second.emit("message", FRAME, true);
    const third = joined();
    second.emit("message", FRAME, true);
    third.emit("message", FRAME, true);
    expect([second.closedWith, seen.slice(1)]).toEqual([4001, [["audio", 640], ["audio", 640]]]); // prettier-ignore
    expect(third.sent[0]).toMatchObject({ type: "hello", resumed: true });
  });

  test.each([
    ["a tab that is closed", 1001, "closed"],
    ["a network that is lost", 1006, "broken"],
  ])("%s ends it after 5 s, and nobody comes back then", async (_what, code, how) => {
    socket.emit("close", code);
    await clock.advance(RESUME_MS);
    expect([seen, ended, leg.isOpen()]).toEqual([[["closed", how]], 1, false]);
    expect(joined().closedWith).toBe(1000);
  });

  const wants = (utterance_id: string): void => socket.get({ type: "speak", text: "Good morning.", utterance_id });

  test("what a client wants to be spoken right after its hello is spoken once its conversation is taken over", () => {
    const got: string[] = [];
    for (const id of ["one", "two"]) wants(id);
    leg.hear(({ utterance_id }) => void got.push(utterance_id));
    wants("three");
    expect([got, socket.types()]).toEqual([["one", "two", "three"], ["hello"]]);
  });

  test("a client that does not lead has nothing spoken, and no more than 20 utterances wait for that to be known", () => {
    for (let n = 0; n <= MAX_WAITING; n++) wants(`u${n}`);
    leg.hear(null);
    wants("last");
    const told = socket.sent
      .slice(1)
      .map((item) => (item instanceof Uint8Array ? "" : `${item["utterance_id"]} ${item["code"]}`));
    const refused = [...Array(MAX_WAITING).keys()].map((n) => `u${n} WRONG_MODE`);
    expect(told).toEqual([`u${MAX_WAITING} RATE_LIMITED`, ...refused, "last WRONG_MODE"]);
  });

  test("a client that leaves ends it at once", () => {
    socket.get({ type: "leave" });
    expect([seen, socket.closedWith]).toEqual([[["closed", "closed"]], 1000]);
  });

  test("15 s without sound end it, though the socket is open", async () => {
    socket.get({ type: "start" });
    for (let ms = 0; ms < NO_MEDIA_MS; ms += 1000) await clock.advance(1000);
    expect([seen.at(-1), socket.closedWith]).toEqual([["closed", "broken"], "terminated"]);
  });

  test("what piled up in a gap of the network is dropped, but for its end", async () => {
    socket.get({ type: "start" });
    await clock.advance(3000);
    for (let i = 0; i < 150; i++) socket.emit("message", FRAME, true);
    expect(seen.filter(([what]) => what === "audio").length).toBeLessThan(20);
    await clock.advance(20);
    socket.emit("message", FRAME, true);
    expect(seen.at(-1)).toEqual(["audio", 640]);
  });

  test("sound that a slow client would hear too late is not sent; one that reads nothing is cut off", () => {
    socket.bufferedAmount = 32_001;
    leg.write(FRAME);
    expect(socket.types()).toEqual(["hello"]);
    socket.bufferedAmount = 2_000_000;
    leg.write(FRAME);
    expect(socket.closedWith).toBe("terminated");
  });

  test("the end of the conversation is told, and without a client it is at once", () => {
    leg.close();
    expect([socket.types(), socket.closedWith, seen]).toEqual([["hello", "end"], 1000, [["closed", "closed"]]]);
    leg.write(FRAME);
    leg.mark("late");
    expect(socket.types()).toEqual(["hello", "end"]);
  });
});
