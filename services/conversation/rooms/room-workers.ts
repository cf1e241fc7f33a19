import type { Log } from "../../../shared/process/log.ts";
import type { Ids } from "../../../shared/ids.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { within } from "../../../shared/time/deadline.ts";
import { startTimer } from "../../../shared/time/timer.ts";
import { fail } from "../../../shared/errors.ts";
import type { RoomNews, RoomOrder, StayNews, StayOrder } from "./room-messages.ts";

/** A process of rooms as its parent has it. */
export interface RoomProcess {
  /** `done`: it has taken the order, or never will. */
  send(order: RoomOrder, done: () => void): void;
  /** Has it end by itself. */
  end(): void;
  kill(): void;
}

/** Starts a process of rooms. */
export type StartRoomProcess = (events: { news(news: RoomNews): void; exited(): void }) => RoomProcess;

/** What the processes are kept with. `workers` processes at most, `rooms` in each at once, `sessions` in its life. */
export interface RoomWorkersDeps {
  clock: Clock;
  ids: Pick<Ids, "uuid">;
  log: Log;
  start: StartRoomProcess;
  workers: number;
  rooms: number;
  sessions: number;
}

/** Our stay in a room, in one of the processes. */
export interface Stay {
  /** Orders for the room. Sound that the process does not take is dropped. */
  send(order: StayOrder): void;
  /** Bytes of sound that wait for the process. */
  unsentBytes(): number;
  /** Leaves the room. */
  close(): void;
}

interface Worker {
  process: RoomProcess;
  stays: Map<string, (news: StayNews) => void>;
  /** Rooms it has had. */
  had: number;
  isReady: boolean;
}

/** A process must be ready so soon, ms: loading the native library takes half a second. */
const READY_MS = 20_000;
/** After a process that never was ready another is started so much later, ms. */
const AGAIN_MS = 2000;
/** A process that was asked to end is ended for good, ms. */
const END_MS = 5000;

/** The processes that rooms are in: a few rooms each, one process standing by, each replaced after its share of rooms, or at once when it dies. */
export class RoomWorkers {
  readonly #deps: RoomWorkersDeps;
  #workers: Worker[] = [];
  #stays = 0;
  #over = false;
  #onReady: () => void = () => undefined;

  constructor(deps: RoomWorkersDeps) {
    this.#deps = deps;
  }

  /** Starts the first process. NOT_AVAILABLE where it does not come up. */
  async start(): Promise<void> {
    const ready = new Promise<void>((resolve) => {
      this.#onReady = resolve;
    });
    this.#standBy();
    if (await within(this.#deps.clock, READY_MS, ready)) return;
    await this.close();
    fail(
      "NOT_AVAILABLE",
      "LIVEKIT_URL is set, but no process of rooms comes up: @livekit/rtc-node is not installed (it needs glibc, and npm ci without --omit=optional). Install it, or leave LIVEKIT_URL empty.",
    );
  }

  /** No room is left for another session. */
  isFull(): boolean {
    return this.#stays >= this.#deps.workers * this.#deps.rooms;
  }

  /** Joins a room. `told` gets what happens there until it is closed or lost. */
  join(url: string, token: string, told: (news: StayNews) => void): Stay {
    const { ids, rooms, sessions } = this.#deps;
    const free = (worker: Worker): boolean => worker.stays.size < rooms && worker.had < sessions;
    const worker = this.#workers.find((w) => w.isReady && free(w)) ?? this.#workers.find(free) ?? this.#begin();
    const id = ids.uuid();
    worker.had++;
    worker.stays.set(id, told);
    this.#stays++;
    worker.process.send({ kind: "open", id, url, token }, () => undefined);
    this.#standBy();
    let unsent = 0;
    return {
      send(order) {
        const bytes = order.kind === "audio" ? order.pcm.byteLength : 0;
        unsent += bytes;
        worker.process.send({ ...order, id }, () => {
          unsent -= bytes;
        });
      },
      unsentBytes: () => unsent,
      close: () => {
        if (!this.#drop(worker, id)) return;
        worker.process.send({ kind: "close", id }, () => undefined);
      },
    };
  }

  /** Ends every process. */
  async close(): Promise<void> {
    this.#over = true;
    for (const { process } of this.#workers) process.end();
    const until = this.#deps.clock.monotonicMs() + END_MS;
    while (this.#workers.length > 0 && this.#deps.clock.monotonicMs() < until) await this.#deps.clock.wait(20);
    for (const { process } of this.#workers) process.kill();
  }

  #drop(worker: Worker, id: string): boolean {
    if (!worker.stays.delete(id)) return false;
    this.#stays--;
    if (worker.stays.size === 0 && worker.had >= this.#deps.sessions) this.#retire(worker);
    return true;
  }

  /** Keeps one process that has no room yet standing by, within the bound. */
  #standBy(): void {
    const { workers, sessions } = this.#deps;
    const open = this.#workers.filter((w) => w.had < sessions);
    if (this.#over || open.length > workers || open.some((w) => w.stays.size === 0)) return;
    this.#begin();
  }

  #begin(): Worker {
    const stays: Worker["stays"] = new Map();
    const process = this.#deps.start({
      news: (news) => this.#news(worker, news),
      exited: () => this.#exited(worker),
    });
    const worker: Worker = { process, stays, had: 0, isReady: false };
    this.#workers.push(worker);
    return worker;
  }

  #news(worker: Worker, news: RoomNews): void {
    if (news.kind === "ready") {
      worker.isReady = true;
      this.#onReady();
      return;
    }
    const told = worker.stays.get(news.id);
    if (news.kind === "closed" || told === undefined) return;
    if (news.kind === "lost") {
      this.#drop(worker, news.id);
      worker.process.send({ kind: "close", id: news.id }, () => undefined);
    }
    told(news);
  }

  #retire(worker: Worker): void {
    worker.process.end();
    const stop = startTimer(this.#deps.clock, END_MS, () => worker.process.kill());
    worker.stays.set("", () => stop()); // until it has ended
  }

  #exited(worker: Worker): void {
    const { log, clock } = this.#deps;
    this.#workers = this.#workers.filter((other) => other !== worker);
    const lost = [...worker.stays].filter(([id]) => id !== "");
    if (lost.length > 0 || !worker.isReady)
      log.error(
        { event: "rooms.process_died", rooms: lost.length, was_ready: worker.isReady },
        "A process of LiveKit rooms has died; its rooms are joined again from another.",
      );
    worker.stays.get("")?.({ kind: "lost", replaced: false, why: "ended" });
    worker.stays.clear();
    this.#stays -= lost.length;
    if (worker.isReady) this.#standBy();
    else if (!this.#over) startTimer(clock, AGAIN_MS, () => this.#standBy());
    for (const [, told] of lost) told({ kind: "lost", replaced: false, why: "process" });
  }
}
