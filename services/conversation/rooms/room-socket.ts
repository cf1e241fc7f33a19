import { EventEmitter } from "node:events";
import type { BrowserSocket } from "../browser/browser-leg.ts";
import { recordIn, textOf } from "../../../shared/json.ts";
import type { StayNews } from "./room-messages.ts";
import type { Stay } from "./room-workers.ts";

/** Close codes: RFC 6455, 7.4.1. */
const NORMAL = 1000;
const BROKEN = 1006;

/**
 * One presence of a client in its room, as the leg of a session takes a socket: binary messages are sound, text messages go as data messages of the room. Marks and clears are the room's own
 * affair, for we play the sound there ourselves. `stay`: our stay in the room at this moment, null while there is none; `closed`: the session is over, by the leg.
 */
export class RoomSocket extends EventEmitter implements BrowserSocket {
  readonly #stay: () => Stay | null;
  readonly #closed: (code: number) => void;

  constructor(stay: () => Stay | null, closed: (code: number) => void) {
    super();
    this.#stay = stay;
    this.#closed = closed;
  }

  get bufferedAmount(): number {
    return this.#stay()?.unsentBytes() ?? 0;
  }

  send(data: string | Uint8Array): void {
    const stay = this.#stay();
    if (typeof data !== "string") return stay?.send({ kind: "audio", pcm: data });
    const message = recordIn(data);
    if (message?.["type"] === "mark") return stay?.send({ kind: "mark", name: textOf(message["name"]) });
    if (message?.["type"] === "clear") stay?.send({ kind: "clear" });
    stay?.send({ kind: "text", text: data });
  }

  close(code: number = NORMAL): void {
    this.#closed(code);
    // as a socket does, later: the leg is still at work
    queueMicrotask(() => this.emit("close", code));
  }

  terminate(): void {
    this.close(BROKEN);
  }

  /** Passes on what comes from the client. */
  take(news: StayNews): void {
    if (news.kind === "audio") this.emit("message", news.pcm, true);
    else if (news.kind === "text") this.emit("message", news.text, false);
    else if (news.kind === "mark") this.#say({ type: "mark", name: news.name });
    else if (news.kind === "here") this.#say({ type: "start" });
    else if (news.kind === "left") this.emit("close", news.inOrder ? NORMAL : BROKEN);
  }

  /** The client is not in the room any more, and nobody has told. */
  gone(): void {
    this.emit("close", BROKEN);
  }

  #say(message: object): void {
    this.emit("message", JSON.stringify(message), false);
  }
}
