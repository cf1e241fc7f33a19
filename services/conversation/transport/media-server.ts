import { createServer, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type RawData, type WebSocket } from "ws";
import { PROVIDERS, type Provider } from "../../../shared/contracts/records/configuration.ts";
import { BROWSER, type MediaSource } from "../../../shared/contracts/records/session.ts";
import { errorForLog, type Log } from "../../../shared/process/log.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { arrivalAllowance } from "./arrival-allowance.ts";
import { MAX_FRAME_BYTES } from "./leg-socket.ts";

/** A request for a socket: whose it is and its one-use token. */
export interface UpgradeRequest {
  provider: MediaSource;
  token: string;
  path: string;
  headers: Record<string, string>;
}

/** How the server runs. `admit` returns what `onSocket` needs, or null for 401; when it throws the answer is 503. */
export interface MediaServerOptions<Ticket> {
  host: string;
  port: number;
  log: Log;
  clock: Pick<Clock, "monotonicMs">;
  /** Time in which a request must have arrived, ms; absent: REQUEST_MS. */
  request_ms?: number;
  /** Sockets at once; further ones are answered 503. */
  maxSockets: number;
  /** Whether the request's token is known here already: it is let in however many requests with other tokens are being looked into. */
  isAwaited(knock: UpgradeRequest): boolean;
  admit(knock: UpgradeRequest): Promise<Ticket | null>;
  onSocket(socket: WebSocket, ticket: Ticket): void;
  /** A socket sends more than any carrier may; it is cut, as if it had broken off. */
  onFlood(ticket: Ticket): void;
}

/** The running server. */
export interface MediaServer {
  readonly port: number;
  /** Answers 503 from now on; open sockets stay open. */
  refuse(): void;
  close(): Promise<void>;
}

const PING_MS = 20_000;
/** A request that has not arrived by then is answered 408 and closed. */
const REQUEST_MS = 10_000;
/** How often that is checked. */
const CHECK_MS = 1000;
/** Requests looked into at once whose token is not known here: of strangers, or of conversations that another process prepared. */
const MAX_UNKNOWN = 1000;
/** Pieces that a message may come in: those without content cost us time, and count in no allowance. */
const MAX_PIECES = 16;
const ADDRESS = /^\/media\/([A-Z_]+)\/([0-9a-f]{32})\/?$/;

const isProvider = (word: string): word is Provider => PROVIDERS.some((p) => p === word);

/** Path of a media address. */
export const mediaPath = (provider: Provider, token: string): string => `/media/${provider}/${token}`;

/** Path of the sessions of browsers. */
export const BROWSER_PATH = "/media/browser";
/** The subprotocol of their sockets; the token follows it in the header, for addresses are written into logs. */
export const BROWSER_PROTOCOL = "callagent.session";

/** The token that a browser's request brings; "": none. */
function browserToken(protocols: string | undefined): string {
  const [protocol, token] = (protocols ?? "").split(",").map((part) => part.trim());
  return protocol === BROWSER_PROTOCOL ? (token ?? "") : "";
}

/** Reads the address and headers of an upgrade; null for any other address. */
export function upgradeRequestOf(request: Pick<IncomingMessage, "url" | "headers">): UpgradeRequest | null {
  const path = request.url ?? "";
  if (path === BROWSER_PATH) {
    const token = browserToken(request.headers["sec-websocket-protocol"]);
    return token === "" ? null : { provider: BROWSER, token, path, headers: {} };
  }
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

const bytesOf = (data: RawData): number =>
  Array.isArray(data) ? data.reduce((sum, part) => sum + part.byteLength, 0) : data.byteLength;

/** Cuts a socket that sends more than a carrier may, before it keeps other calls from being heard. */
function boundArrivals(socket: WebSocket, clock: Pick<Clock, "monotonicMs">, onFlood: () => void): void {
  const allows = arrivalAllowance(clock);
  let cut = false;
  const count = (data: RawData): void => {
    if (cut || allows(bytesOf(data))) return;
    cut = true;
    socket.removeAllListeners("message"); // what is still in the buffers is not read
    socket.terminate();
    onFlood();
  };
  for (const kind of ["message", "ping", "pong"]) socket.on(kind, count);
}

/** Admits upgrades, within the bound of sockets, and opens their sockets. */
function upgradeHandler<Ticket>(
  { admit, isAwaited, onSocket, onFlood, maxSockets, log, clock }: MediaServerOptions<Ticket>,
  sockets: WebSocketServer,
  isRefusing: () => boolean,
): (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void> {
  const admitting = { awaited: 0, unknown: 0 };
  const hasRoom = (kind: keyof typeof admitting): boolean =>
    sockets.clients.size + admitting.awaited < maxSockets && (kind === "awaited" || admitting.unknown < MAX_UNKNOWN);
  return async (request, socket, head) => {
    const upgrade = upgradeRequestOf(request);
    if (!upgrade) {
      refuse(socket, 404);
      return;
    }
    const kind = isAwaited(upgrade) ? "awaited" : "unknown";
    if (isRefusing() || !hasRoom(kind)) {
      refuse(socket, 503);
      return;
    }
    admitting[kind]++;
    try {
      const ticket = await admit(upgrade);
      if (ticket === null) {
        refuse(socket, 401);
        return;
      }
      sockets.handleUpgrade(request, socket, head, (ws) => {
        boundArrivals(ws, clock, () => onFlood(ticket));
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
      admitting[kind]--;
    }
  };
}

/** Starts the WebSocket server that carriers connect to. Rejects when the port is taken. */
export async function startMediaServer<Ticket>(options: MediaServerOptions<Ticket>): Promise<MediaServer> {
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    maxFragments: MAX_PIECES,
  });
  const stopPings = keepAlive(sockets);
  const { request_ms = REQUEST_MS } = options;
  let refusing = false;
  const onUpgrade = upgradeHandler(options, sockets, () => refusing);

  const http = createServer(
    {
      headersTimeout: request_ms,
      requestTimeout: request_ms,
      connectionsCheckingInterval: Math.min(CHECK_MS, request_ms),
    },
    (_request, response) => {
      response.writeHead(426, { upgrade: "websocket", connection: "close" }).end();
    },
  );
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
