import { EventEmitter } from "node:events";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PAGE = new URL("../../services/gateway/session-page/room-transport.js", import.meta.url);
const STEP_MS = 10_000;
const TRACK = { clone: () => ({ stop: () => undefined }) };
const MEDIA = { context: {}, stream: { getAudioTracks: () => [TRACK] } };

/** The page's timers, which only move when told to. */
class PageTimers {
  #now = 0;
  #last = 0;
  readonly #due = new Map<number, { at: number; run: () => void }>();
  readonly #own = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };

  /** Puts them in the place of the process's own. */
  begin(): void {
    Object.assign(globalThis, {
      setTimeout: (run: () => void, ms: number) => {
        this.#due.set(++this.#last, { at: this.#now + ms, run });
        return this.#last;
      },
      clearTimeout: (id: number) => void this.#due.delete(id),
    });
  }

  end(): void {
    Object.assign(globalThis, this.#own);
  }

  /** Lets time pass, and what follows from it. */
  async pass(ms: number): Promise<void> {
    this.#now += ms;
    for (const [id, { at, run }] of this.#due)
      if (at <= this.#now) {
        this.#due.delete(id);
        run();
      }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
let timers: PageTimers;

/** A room that comes about step by step, as a test lets it. */
class SlowRoom extends EventEmitter {
  static last: SlowRoom;
  readonly steps: (() => void)[] = [];
  readonly localParticipant = {
    publishTrack: () => this.#comes("localTrackPublished"),
    publishData: () => Promise.resolve(),
  };

  constructor() {
    super();
    SlowRoom.last = this;
  }

  connect(): Promise<void> {
    return this.#comes("connected");
  }

  disconnect(): Promise<void> {
    return Promise.resolve();
  }

  says(message: object): void {
    this.emit("dataReceived", Buffer.from(JSON.stringify(message)), null, null, "callagent");
  }

  #comes(step: string): Promise<void> {
    return new Promise((resolve) => this.steps.push(() => resolve(void this.emit(step))));
  }
}

const LIBRARY = `export const Room = globalThis.SlowRoom;
export const DisconnectReason = {};
export const Track = { Source: { Microphone: "microphone" } };`;
let folder = "";
beforeAll(async () => {
  // the gateway serves the library beside the page's files
  folder = await mkdtemp(join(tmpdir(), "page-"));
  await copyFile(PAGE, join(folder, "room-transport.mjs"));
  await writeFile(join(folder, "livekit-client.mjs"), LIBRARY);
  Object.assign(globalThis, { SlowRoom });
});
afterAll(async () => {
  Reflect.deleteProperty(globalThis, "SlowRoom");
  await rm(folder, { recursive: true });
});

/** Enters a room; how it ended, once it has. */
async function enters(): Promise<() => string> {
  const page: unknown = await import(join(folder, "room-transport.mjs"));
  if (typeof page !== "object" || !page || !("openRoom" in page) || typeof page.openRoom !== "function")
    throw new Error("no openRoom");
  let end = "entering";
  const opening: Promise<unknown> = page.openRoom({ url: "ws://room", token: "t" }, MEDIA, {
    received: () => undefined,
    lost: () => undefined,
  });
  void opening.then(
    () => (end = "entered"),
    () => (end = "given up"),
  );
  await timers.pass(0);
  return () => end;
}

beforeEach(() => {
  timers = new PageTimers();
  timers.begin();
});
afterEach(() => timers.end());

test("a slow machine enters the room, however long its steps take together", async () => {
  const end = await enters();
  const room = SlowRoom.last;
  const almost = () => timers.pass(STEP_MS - 1);
  await almost();
  room.emit("signalConnected");
  await almost();
  room.steps.shift()?.();
  await almost();
  room.steps.shift()?.();
  await almost();
  room.emit("trackSubscribed", { attach: () => undefined });
  await almost();
  room.says({ type: "hello" });
  await timers.pass(0);
  expect(end()).toBe("entered");
});

test("a server that does not answer, and media that find no way, are given up after 10 s", async () => {
  const end = await enters();
  await timers.pass(STEP_MS);
  expect(end()).toBe("given up");
  const later = await enters();
  SlowRoom.last.emit("signalConnected");
  await timers.pass(STEP_MS - 1);
  expect(later()).toBe("entering");
  await timers.pass(1);
  expect(later()).toBe("given up");
});
