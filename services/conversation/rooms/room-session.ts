import type { LivekitAccount, LivekitRooms } from "../../../shared/livekit/rooms.ts";
import { roomOf } from "../../../shared/contracts/records/session.ts";
import { errorForLog, type Log } from "../../../shared/process/log.ts";
import { exponentialMs } from "../../../shared/time/backoff.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { startTimer } from "../../../shared/time/timer.ts";
import type { BrowserSocket } from "../browser/browser-leg.ts";
import { AGENT_IDENTITY, CLIENT_IDENTITY, type StayNews } from "./room-messages.ts";
import { RoomSocket } from "./room-socket.ts";
import type { RoomWorkers, Stay } from "./room-workers.ts";

/** What a session's room is kept with. */
export interface RoomSessionDeps {
  clock: Clock;
  log: Log;
  account: Pick<LivekitAccount, "url">;
  rooms: LivekitRooms;
  workers: Pick<RoomWorkers, "join">;
  /** Begins the conversation of the session on its client's socket; false: the session is over, or another process has it. */
  enter(token: string, socket: BrowserSocket, ended: () => void): Promise<boolean>;
  /** The client is back: another socket for the conversation under way. */
  attach(call_ref: string, socket: BrowserSocket): void;
}

/** Life of our own token: it is used at once, seconds. */
const AGENT_TOKEN_SECONDS = 60;
/** A room that is lost is joined again with pauses between these bounds, ms. */
const AGAIN_BASE_MS = 200;
const AGAIN_MAX_MS = 2000;
/** While the server is away it is asked so often to make the room, ms; then nobody waits for it any more. */
const REMAKE_MS = 500;
const REMAKE_TRIES = 60;
/** What was said last is heard before we leave, ms: the other side plays it behind its jitter buffer, which has 120 ms in it at best and several hundred on a busy machine. */
const LAST_WORDS_MS = 600;
/** Looks in a row that find no client there. */
const MISSED_LOOKS = 2;
/** A room that can't be removed is tried again so often, with pauses between these bounds, ms; then it ends by itself. */
const REMOVE_TRIES = 6;
const REMOVE_BASE_MS = 500;
const REMOVE_MAX_MS = 15_000;
/** Close code of a socket whose place another has taken (browser-leg.ts). */
const REPLACED = 4001;

/** The room of one session on our side: joined from the moment the client is awaited, joined again when it is lost, removed with the session. */
export class RoomSession {
  readonly #deps: RoomSessionDeps;
  readonly #call_ref: string;
  readonly #room: string;
  readonly #ended: () => void;
  readonly #over = new AbortController();
  #token: string;
  #stay: Stay | null = null;
  #socket: RoomSocket | null = null;
  #led = false;
  #missed = 0;
  #stopWaiting: () => void = () => undefined;

  /** `token`: the client's, by which the session is admitted. */
  constructor(deps: RoomSessionDeps, call_ref: string, token: string, ended: () => void) {
    this.#deps = deps;
    this.#call_ref = call_ref;
    this.#room = roomOf(call_ref);
    this.#ended = ended;
    this.#token = token;
    void this.#join();
  }

  /** The client has another token, and so long to come. */
  await(token: string, ms: number): void {
    this.#token = token;
    this.#stopWaiting();
    if (!this.#led) this.#stopWaiting = startTimer(this.#deps.clock, ms, () => this.end());
  }

  /** Looks whether the client of a conversation under way is still in the room: nobody may have told that it left. Never rejects. */
  async look(): Promise<void> {
    if (this.#socket === null || this.#stay === null) return;
    const socket = this.#socket;
    const there = await this.#deps.rooms.identities(this.#room).catch(() => null);
    if (there === null || socket !== this.#socket) return;
    this.#missed = there.includes(CLIENT_IDENTITY) ? 0 : this.#missed + 1;
    if (this.#missed < MISSED_LOOKS) return;
    this.#socket = null;
    socket.gone();
  }

  /** The session is over: the client is put out and the room removed. Idempotent. */
  end(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort(null);
    this.#stopWaiting();
    this.#ended();
    void this.#remove();
  }

  /** Our place in the room was taken: another process has the session. */
  #giveUp(): void {
    this.#over.abort(null);
    this.#stopWaiting();
    this.#ended();
  }

  async #join(): Promise<void> {
    const { clock, rooms, account, workers, log } = this.#deps;
    const { signal } = this.#over;
    for (let tries = 0; !signal.aborted; tries++) {
      try {
        if (tries > 0 || this.#led) await rooms.create(this.#room);
        const token = await rooms.token(this.#room, AGENT_IDENTITY, AGENT_TOKEN_SECONDS);
        if (!signal.aborted) this.#stay = workers.join(account.url, token, (news) => this.#news(news));
        return;
      } catch (error) {
        log.warn(
          { event: "room.not_joined", call_ref: this.#call_ref, error: errorForLog(error) },
          "A room could not be joined; tried again.",
        );
        await clock.wait(exponentialMs(tries, AGAIN_BASE_MS, AGAIN_MAX_MS), signal);
      }
    }
  }

  #news(news: StayNews): void {
    if (news.kind === "lost") return void this.#lost(news.replaced, news.why);
    if (news.kind === "away") return void this.#remake();
    if (news.kind === "here") return void this.#arrived();
    const socket = this.#socket;
    if (news.kind === "left") this.#socket = null;
    socket?.take(news);
  }

  /** A server that was started again knows the room no more, and lets nobody make it but us: made again, so that both sides come back into it. */
  async #remake(): Promise<void> {
    const { clock, rooms } = this.#deps;
    const { signal } = this.#over;
    for (let tries = 0; !signal.aborted && tries < REMAKE_TRIES; tries++) {
      const isMade = await rooms.create(this.#room).then(
        () => true,
        () => false,
      );
      if (isMade) return;
      await clock.wait(REMAKE_MS, signal);
    }
  }

  async #lost(replaced: boolean, why: string): Promise<void> {
    const { log, clock } = this.#deps;
    this.#stay = null;
    if (this.#over.signal.aborted) return;
    log.warn({ event: "room.lost", call_ref: this.#call_ref, why }, "Our place in a room is lost.");
    if (replaced && !this.#led) return this.#giveUp();
    if (why !== "process") await clock.wait(AGAIN_BASE_MS, this.#over.signal);
    await this.#join();
  }

  /** The client is here, for the first time or again. */
  async #arrived(): Promise<void> {
    const { enter, attach, log } = this.#deps;
    const socket = new RoomSocket(
      () => this.#stay,
      (code) => this.#closed(socket, code),
    );
    this.#socket = socket;
    this.#missed = 0;
    if (this.#led) {
      attach(this.#call_ref, socket);
      return socket.take({ kind: "here" });
    }
    this.#led = true;
    this.#stopWaiting();
    const entered = await enter(this.#token, socket, () => this.end()).catch((error: unknown) => {
      log.error(
        { event: "room.not_admitted", call_ref: this.#call_ref, error: errorForLog(error) },
        "A client's session could not be begun; its room is ended.",
      );
      return false;
    });
    if (entered) socket.take({ kind: "here" });
    else this.end();
  }

  #closed(socket: RoomSocket, code: number): void {
    if (code === REPLACED || this.#socket !== socket) return;
    this.#socket = null;
  }

  async #remove(): Promise<void> {
    const { clock, rooms, log } = this.#deps;
    await clock.wait(LAST_WORDS_MS);
    this.#stay?.close();
    this.#stay = null;
    for (let tries = 1; ; tries++) {
      try {
        return await rooms.remove(this.#room, [CLIENT_IDENTITY]);
      } catch (error) {
        if (tries < REMOVE_TRIES) {
          await clock.wait(exponentialMs(tries, REMOVE_BASE_MS, REMOVE_MAX_MS));
          continue;
        }
        return log.warn(
          { event: "room.not_removed", call_ref: this.#call_ref, error: errorForLog(error) },
          "A room could not be removed; it ends by itself once everybody has left.",
        );
      }
    }
  }
}
