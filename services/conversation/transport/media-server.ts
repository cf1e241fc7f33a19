import { createServer, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";
import { PROVIDERS, type Provider } from "../../../shared/contracts/records/configuration.ts";
import { errorForLog, type Log } from "../../../shared/process/log.ts";
import { MAX_FRAME_BYTES } from "./leg-socket.ts";

/** A request for a socket: whose it is and its one-use token. */
export interface UpgradeRequest {
  provider: Provider;
  token: string;
  path: string;
  headers: Record<string, string>;
}

/** How the server runs. `admit` returns what `onSocket` needs, or null for 401; when it throws the answer is 503. */
export interface MediaServerOptions<Ticket> {
  host: string;
  port: number;
  log: Log;
  /** Sockets at once; further ones are answered 503. */
  maxSockets: number;
  admit(knock: UpgradeRequest): Promise<Ticket | null>;
  onSocket(socket: WebSocket, ticket: Ticket): void;
}

/** The running server. */
export interface MediaServer {
  readonly port: number;
  /** Answers 503 from now on; open sockets stay open. */
  refuse(): void;
  close(): Promise<void>;
}

const PING_MS = 20_000;
const HEADERS_MS = 10_000;
const ADDRESS = /^\/media\/([A-Z_]+)\/([0-9a-f]{32})\/?$/;

const isProvider = (word: string): word is Provider => PROVIDERS.some((p) => p === word);

/** Path of a media address. */
export const mediaPath = (provider: Provider, token: string): string => `/media/${provider}/${token}`;

/** Reads the address and headers of an upgrade; null for any other address. */
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

function refuse(socket: Duplex, status: keyof typeof STATUS): void {
  socket.end(
    `HTTP/1.1 ${status} ${STATUS[status]}\r\nConnection: close\r\nContent-Length: 0\r\n${status === 503 ? "Retry-After: 1\r\n" : ""}\r\n`,
  );
}

/** Pings every socket and terminates those that did not answer the previous ping. */
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

/** Admits upgrades, within the bound of sockets, and opens their sockets. */
function upgradeHandler<Ticket>(
  { admit, onSocket, maxSockets, log }: MediaServerOptions<Ticket>,
  sockets: WebSocketServer,
  isRefusing: () => boolean,
): (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void> {
  let admitting = 0;
  return async (request, socket, head) => {
    const upgrade = upgradeRequestOf(request);
    if (!upgrade) {
      refuse(socket, 404);
      return;
    }
    if (isRefusing() || sockets.clients.size + admitting >= maxSockets) {
      refuse(socket, 503);
      return;
    }
    admitting++;
    try {
      const ticket = await admit(upgrade);
      if (ticket === null) {
        refuse(socket, 401);
        return;
      }
      sockets.handleUpgrade(request, socket, head, (ws) => {
        sockets.emit("connection", ws, request);
        onSocket(ws, ticket);
      });
    } catch (error) {
      log.error(
        { event: "media.not_admitted", error: errorForLog(error) },
        "A carrier's socket could not be checked; answered 503.",
      );
      refuse(socket, 503);
    } finally {
      admitting--;
    }
  };
}

/** Starts the WebSocket server that carriers connect to. Rejects when the port is taken. */
export async function startMediaServer<Ticket>(options: MediaServerOptions<Ticket>): Promise<MediaServer> {
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: MAX_FRAME_BYTES });
  const stopPings = keepAlive(sockets);
  let refusing = false;
  const onUpgrade = upgradeHandler(options, sockets, () => refusing);

  const http = createServer({ headersTimeout: HEADERS_MS }, (_request, response) => {
    response.writeHead(426, { upgrade: "websocket", connection: "close" }).end();
  });
  http.on("upgrade", (request, socket, head) => {
    socket.on("error", () => socket.destroy());
    void onUpgrade(request, socket, head);
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
