import { createServer, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";
import { PROVIDERS, type Provider } from "../../../shared/contracts/configuration.ts";
import { errorForLog, type Log } from "../../../shared/log.ts";
import { MAX_FRAME_BYTES } from "./leg-socket.ts";

/** An upgrade as it was asked for. */
export interface UpgradeRequest {
  provider: Provider;
  token: string;
  path: string;
  headers: Record<string, string>;
}

/** How the server is run. `admit` gives what `onSocket` needs, or null for 401; when it throws the answer is 503. */
export interface MediaServerOptions<Ticket> {
  host: string;
  port: number;
  log: Log;
  /** Most sockets at once; more are answered 503. */
  most: number;
  admit(knock: UpgradeRequest): Promise<Ticket | null>;
  onSocket(socket: WebSocket, ticket: Ticket): void;
}

/** The running server. */
export interface MediaServer {
  readonly port: number;
  /** Answers 503 from now on; open sockets stay. */
  refuse(): void;
  close(): Promise<void>;
}

const PING_MS = 20_000;
const HEADERS_MS = 10_000;
const ADDRESS = /^\/media\/([A-Z_]+)\/([0-9a-f]{32})\/?$/;

const isProvider = (word: string): word is Provider => PROVIDERS.some((p) => p === word);

/** Path of a media address. */
export const mediaPath = (provider: Provider, token: string): string => `/media/${provider}/${token}`;

/** Reads an upgrade's address and headers; null when it is none of ours. */
export function upgradeRequestOf(request: Pick<IncomingMessage, "url" | "headers">): UpgradeRequest | null {
  const path = request.url ?? "";
  const [, provider = "", token = ""] = ADDRESS.exec(path) ?? [];
  if (!isProvider(provider)) return null;
  const headers = Object.fromEntries(
    Object.entries(request.headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    ),
  );
  return { provider, token, path, headers };
}

const STATUS = { 401: "Unauthorized", 404: "Not Found", 503: "Service Unavailable" } as const;

function turnAway(socket: Duplex, status: keyof typeof STATUS): void {
  socket.end(
    `HTTP/1.1 ${status} ${STATUS[status]}\r\nConnection: close\r\nContent-Length: 0\r\n${status === 503 ? "Retry-After: 1\r\n" : ""}\r\n`,
  );
}

/** Pings every socket; one that did not answer since the last round is dead and let go. */
function keepAlive(server: WebSocketServer): () => void {
  const answered = new WeakSet<WebSocket>();
  server.on("connection", (socket) => {
    answered.add(socket);
    socket.on("pong", () => answered.add(socket));
  });
  const timer = setInterval(() => {
    for (const socket of server.clients) {
      if (!answered.delete(socket)) socket.terminate();
      else socket.ping();
    }
  }, PING_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Starts the WebSocket server that carriers connect to. Rejects when the port is taken. */
export async function startMediaServer<Ticket>(options: MediaServerOptions<Ticket>): Promise<MediaServer> {
  const { log } = options;
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: MAX_FRAME_BYTES });
  const stopPings = keepAlive(sockets);
  let refusing = false;
  let knocking = 0;

  const receive = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const knock = upgradeRequestOf(request);
    if (!knock) {
      turnAway(socket, 404);
      return;
    }
    if (refusing || sockets.clients.size + knocking >= options.most) {
      turnAway(socket, 503);
      return;
    }
    knocking++;
    try {
      const ticket = await options.admit(knock);
      if (ticket === null) {
        turnAway(socket, 401);
        return;
      }
      sockets.handleUpgrade(request, socket, head, (ws) => {
        sockets.emit("connection", ws, request);
        options.onSocket(ws, ticket);
      });
    } catch (error) {
      log.error(
        { event: "media.not_admitted", error: errorForLog(error) },
        "A carrier's socket could not be checked; answered 503.",
      );
      turnAway(socket, 503);
    } finally {
      knocking--;
    }
  };

  const http = createServer({ headersTimeout: HEADERS_MS }, (_request, response) => {
    response.writeHead(426, { upgrade: "websocket", connection: "close" }).end();
  });
  http.on("upgrade", (request, socket, head) => {
    socket.on("error", () => socket.destroy());
    void receive(request, socket, head);
  });
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject);
    http.listen(options.port, options.host, resolve);
  });
  const address = http.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    refuse() {
      refusing = true;
    },
    async close() {
      stopPings();
      for (const socket of sockets.clients) socket.terminate();
      await new Promise<void>((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      });
    },
  };
}
