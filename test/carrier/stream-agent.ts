import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";
import { decodeSound, encodeSound, frameSamples, type SoundFormat } from "../../deploy/local/carrier/stream/format.ts";
import { createDecoder, encodeSpeech } from "../../deploy/local/speech/modem.ts";
import type { Entry } from "../../deploy/local/carrier/ledger.ts";
import { until } from "./agent.ts";

/** A message of a stream, loosely typed on purpose: the tests assert its fields. */
export type Message = Record<string, unknown> & { event: string };

/** How one carrier wants sound, marks and clears. */
export interface Dialect {
  media(session: StreamSession, payload: string): object;
  mark(session: StreamSession, name: string): object;
  clear(session: StreamSession): object;
  /** The stream's own id and format, out of its start message. */
  started(message: Message): { id: string; format: SoundFormat };
}

/** One stream as the service's side sees it. */
export interface StreamSession {
  socket: WebSocket;
  request: IncomingMessage;
  id: string;
  format: SoundFormat;
  /** All messages but media. */
  messages: Message[];
  media: Message[];
  /** The person's words so far. */
  words: string[];
  closeCode: number | null;
  send(message: object): void;
  /** Speaks in frames of 20 ms, at most 200 ms ahead; a mark behind it. `stop()` ends it early. */
  speak(text: string, mark?: string): { stop(): void };
  play(pcm: Int16Array): void;
}

/** The service's side of streams: a WebSocket server that is scripted. */
export interface StreamAgent {
  ws: string;
  sessions: StreamSession[];
  /** Called when the person's speech has ended, with all words since the last time. */
  onWords: (session: StreamSession, text: string) => void;
  onStart: (session: StreamSession) => void;
  /** Upgrades are answered by this status instead; null: accepted. */
  refuse: number | null;
  session(match: (session: StreamSession) => boolean): Promise<StreamSession>;
  close(): Promise<void>;
}

const LEAD_MS = 200;
const FRAME_MS = 20;

function framesOf(pcm: Int16Array, format: SoundFormat): string[] {
  const size = frameSamples(format);
  return Array.from({ length: Math.ceil(pcm.length / size) }, (_, n) => {
    const frame = new Int16Array(size);
    frame.set(pcm.subarray(n * size, (n + 1) * size));
    return encodeSound(format, frame).toString("base64");
  });
}

export async function startStreamAgent(dialect: Dialect): Promise<StreamAgent> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    if (agent.refuse !== null) {
      socket.end(`HTTP/1.1 ${agent.refuse} no\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (ws) => open(ws, request));
  });
  const timers = new Set<NodeJS.Timeout>();

  function open(socket: WebSocket, request: IncomingMessage): void {
    let decoder: ReturnType<typeof createDecoder> | null = null;
    let fresh: string[] = [];
    const paced = (frames: string[], mark: string | undefined): { stop(): void } => {
      const startedAt = performance.now();
      let sent = 0;
      const pump = (): void => {
        while (sent < frames.length && sent * FRAME_MS < performance.now() - startedAt + LEAD_MS) {
          session.send(dialect.media(session, frames[sent] ?? ""));
          sent += 1;
        }
        if (sent < frames.length || socket.readyState !== socket.OPEN) return;
        stop();
        if (mark !== undefined) session.send(dialect.mark(session, mark));
      };
      const timer = setInterval(pump, 10);
      timers.add(timer);
      const stop = (): void => {
        clearInterval(timer);
        timers.delete(timer);
      };
      pump();
      return { stop };
    };
    const session: StreamSession = {
      socket,
      request,
      id: "",
      format: { codec: "pcmu", rate: 8000 },
      messages: [],
      media: [],
      words: [],
      closeCode: null,
      send: (message) => {
        if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
      },
      speak: (text, mark) => paced(framesOf(encodeSpeech(text, session.format.rate), session.format), mark),
      play: (pcm) => {
        paced(framesOf(pcm, session.format), undefined);
      },
    };
    agent.sessions.push(session);
    socket.on("close", (code) => {
      session.closeCode = code;
    });
    socket.on("message", (data) => {
      const message = JSON.parse(String(data)) as Message;
      if (message.event !== "media") session.messages.push(message);
      else session.media.push(message);
      if (message.event === "start") {
        Object.assign(session, dialect.started(message));
        decoder = createDecoder(session.format.rate, {
          heard: (word) => {
            session.words.push(word);
            fresh.push(word);
          },
          ended: () => {
            const text = fresh.join(" ");
            fresh = [];
            agent.onWords(session, text);
          },
        });
        agent.onStart(session);
      }
      if (message.event === "media")
        decoder?.push(
          decodeSound(
            session.format,
            Buffer.from(String((message["media"] as Record<string, unknown>)["payload"]), "base64"),
          ),
        );
    });
  }

  const agent: StreamAgent = {
    ws: `ws://127.0.0.1:${port}`,
    sessions: [],
    onWords: () => undefined,
    onStart: () => undefined,
    refuse: null,
    session: (match) => until(() => agent.sessions.find(match), "the stream"),
    close: () =>
      new Promise((resolve) => {
        for (const timer of timers) clearInterval(timer);
        for (const socket of sockets.clients) socket.terminate();
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return agent;
}

/** The summary of a stream, when it is over. */
export const closedStream = (entries: (kind: string, sid: string) => Promise<Entry[]>, sid: string): Promise<Entry> =>
  until(async () => (await entries("stream", sid)).find((e) => e["event"] === "closed"), "the end of the stream");
