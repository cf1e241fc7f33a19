import { EventEmitter } from "node:events";
import { WebSocket, type RawData } from "ws";
import { isRecord, recordIn } from "../../../../shared/json.ts";
import { isSound, mediaOf, soundOf, UNHEARD, type StreamSocket } from "./session-sound.ts";

/** The page plays once so much of an utterance is there (PREBUFFER in services/gateway/session-page/audio.js): two frames. */
const PREBUFFERED_FRAMES = 2;
/** The socket of a session (docs/rtc.md), with the manners of a carrier's stream: the same callers use it, and hear it when the page would play it. */
class SessionSocket extends EventEmitter implements StreamSocket {
  readonly #socket: WebSocket;
  readonly #listens: boolean;
  #waiting: Buffer[] = [];
  #plays = false;

  constructor(socket: WebSocket, listens: boolean) {
    super();
    this.#socket = socket;
    this.#listens = listens;
    socket.on("message", (data: RawData, isBinary) => {
      if (Buffer.isBuffer(data)) this.#take(data, isBinary);
    });
    socket.on("close", () => this.emit("close"));
    socket.on("error", () => this.terminate());
  }

  get readyState(): number {
    return this.#socket.readyState;
  }

  send(data: string | Buffer): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    if (Buffer.isBuffer(data) && isSound(data)) return this.#socket.send(soundOf(data, ""));
    const message = recordIn(data.toString());
    const { media, mark } = message ?? {};
    switch (message?.["event"]) {
      case "media":
        if (Buffer.isBuffer(data) && isRecord(media)) this.#socket.send(soundOf(data, String(media["payload"])));
        return;
      case "start":
        return this.#socket.send('{"type":"start"}');
      case "mark":
        if (isRecord(mark)) this.#socket.send(JSON.stringify({ type: "mark", name: mark["name"] }));
        return;
      case "stop":
        return this.#socket.send('{"type":"leave"}');
    }
  }

  close(code?: number): void {
    this.#socket.close(code);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  #take(data: Buffer, isBinary: boolean): void {
    if (isBinary) {
      this.#waiting.push(this.#listens ? mediaOf(data) : UNHEARD);
      this.#plays ||= this.#waiting.length >= PREBUFFERED_FRAMES;
      if (this.#plays) this.#play();
      return;
    }
    const message = recordIn(data.toString());
    if (message?.["type"] === "mark") {
      this.#play();
      this.#plays = false;
      this.emit("message", Buffer.from(JSON.stringify({ event: "mark", mark: { name: message["name"] } })));
    } else if (message?.["type"] === "clear") {
      this.#waiting = [];
      this.#plays = false;
      this.emit("message", Buffer.from('{"event":"clear"}'));
    }
  }

  #play(): void {
    for (const frame of this.#waiting.splice(0)) this.emit("message", frame);
  }
}

/** Joins a session by the address and the token behind its "#", and "#livekit" where it is held in a room. */
export async function sessionSocket(access: string, listens: boolean): Promise<StreamSocket> {
  const [url = "", token = "", transport] = access.split("#");
  if (transport === "livekit") return (await import("./room-stream.ts")).roomStream({ url, token }, listens);
  const socket = new WebSocket(url, ["callagent.session", token], { perMessageDeflate: false });
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  return new SessionSocket(socket, listens);
}
