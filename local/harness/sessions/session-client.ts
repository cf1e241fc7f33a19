import { setTimeout as wait } from "node:timers/promises";
import { WebSocket } from "ws";
import { createDecoder, encodeSpeech } from "../../speech/modem.ts";
import type { SessionAccess, SessionClient } from "./session-port.ts";

/** Audio of a session: 16 bit, mono. */
export const SESSION_RATE = 16_000;
const FRAME_MS = 20;
const FRAME_SAMPLES = (SESSION_RATE * FRAME_MS) / 1000;
/** The subprotocol of a session's socket; the token follows it. */
const PROTOCOL = "callagent.session";

const socketOf = ({ url, token }: SessionAccess): WebSocket => new WebSocket(url, [PROTOCOL, token]);

/** The status that an upgrade is refused with; 101: it was let in, and is closed again. */
export async function upgradeStatus(access: SessionAccess): Promise<number> {
  const socket = socketOf(access);
  return new Promise((resolve) => {
    socket.on("unexpected-response", (_request, response) => {
      resolve(response.statusCode ?? 0);
      socket.terminate();
    });
    socket.on("error", () => undefined);
    socket.on("open", () => {
      resolve(101);
      socket.terminate();
    });
  });
}

/** Plays sound and marks in their order and in real time; `clear` throws away what was not played. */
function speaker(played: (pcm: Int16Array) => void, mark: (name: string) => void) {
  let queue: (Int16Array | string)[] = [];
  return {
    add: (item: Int16Array | string): void => void queue.push(item),
    clear: (): void => {
      queue = [];
    },
    tick(): void {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        if (typeof next !== "string") return played(next);
        mark(next);
      }
    },
  };
}

/** The sound of a sentence in whole frames. */
function framesOf(text: string): Int16Array[] {
  const pcm = encodeSpeech(text, SESSION_RATE);
  return Array.from({ length: Math.ceil(pcm.length / FRAME_SAMPLES) }, (_, i) => {
    const frame = new Int16Array(FRAME_SAMPLES);
    frame.set(pcm.subarray(i * FRAME_SAMPLES, (i + 1) * FRAME_SAMPLES));
    return frame;
  });
}

/** Waits until a socket is open. Rejects where it is not let in. */
const opened = (socket: WebSocket): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.on("open", resolve);
    socket.on("error", reject);
  });

/** Calls `tick` in real time for as long as the socket is open. */
async function everyFrame(socket: WebSocket, tick: () => void): Promise<void> {
  for (let next = performance.now() + FRAME_MS; socket.readyState === WebSocket.OPEN; next += FRAME_MS) {
    tick();
    await wait(Math.max(0, next - performance.now()));
  }
}

/** Connects a client, by a LiveKit room where the session has one. Rejects where it is not let in. */
export async function joinAsClient(access: SessionAccess): Promise<SessionClient> {
  if (access.transport === "livekit") {
    // LiveKit's library is an optional package, which logs everything else
    process.env["NODE_ENV"] ??= "production";
    return (await import("./room-client.ts")).joinRoom(access);
  }
  const socket = socketOf(access);
  const began = performance.now();
  const messages: Record<string, unknown>[] = [];
  const words: string[] = [];
  const speech: Int16Array[] = [];
  let frozen = false;
  let first: number | null = null;
  const decoder = createDecoder(SESSION_RATE, { heard: (word) => void words.push(word) });
  const send = (message: object): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
  const out = speaker(
    (pcm) => decoder.push(pcm),
    (name) => send({ type: "mark", name }),
  );
  const closed = new Promise<number>((resolve) => void socket.on("close", resolve));
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) {
      first ??= performance.now() - began;
      out.add(new Int16Array(new Uint8Array(data).buffer));
      return;
    }
    const message = JSON.parse(String(data)) as Record<string, unknown>;
    messages.push(message);
    if (message["type"] === "mark") out.add(String(message["name"]));
    if (message["type"] === "clear") out.clear();
  });
  await opened(socket);
  void everyFrame(socket, () => {
    const pcm = speech.shift() ?? new Int16Array(FRAME_SAMPLES);
    if (!frozen) socket.send(new Uint8Array(pcm.buffer));
    out.tick();
  });
  send({ type: "start" });
  return {
    messages,
    closed,
    send,
    heard: () => words.join(" "),
    firstSoundMs: () => first,
    say: (text) => void speech.push(...framesOf(text)),
    freeze: () => {
      frozen = true;
    },
    drop: () => socket.terminate(),
    close: () => socket.close(1001),
  };
}
