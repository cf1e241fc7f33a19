import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { Failure } from "../../../shared/errors.ts";
import type { Ids } from "../../../shared/ids.ts";
import type { Problem } from "./http-errors.ts";
import { failureOf, headerFailure, rawAnswer } from "./parser-errors.ts";

/** Date of the API's last change in meaning; sent with every answer. */
export const API_VERSION = "2026-11-21";

/** A client must have sent its headers within this, the whole request within the second, and a bulk body within the third. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 10_000;
const BULK_REQUEST_MS = 600_000;
/** How often the first and the third are checked. */
const CHECK_MS = 1000;
const KEEP_ALIVE_MS = 65_000;
const MAX_HEADER_BYTES = 16_384;

const SECURITY: Readonly<Record<string, string>> = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "Cache-Control": "no-store",
};

/** What a caller may name as its trace id; anything else is replaced by one of ours. */
const REQUEST_ID = /^[A-Za-z0-9._:-]{1,100}$/;

/** A listening HTTP server. */
export interface HttpServer {
  server: Server;
  /** Its address from the local host. */
  url: string;
  /** Takes no new request, lets those under way end, cuts what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

const deadlines = new WeakMap<IncomingMessage, NodeJS.Timeout>();

/** Lets a request's body take as long as a bulk body may: it is read only as fast as it is worked on. */
export function allowSlowBody(req: IncomingMessage): void {
  clearTimeout(deadlines.get(req));
}

/** Disconnects a client that has not sent its whole request in time. */
function limitBody(req: IncomingMessage, ms: number, late: () => void): void {
  if (req.complete) return;
  const timer = setTimeout(() => {
    if (!req.complete) late();
  }, ms);
  timer.unref();
  deadlines.set(req, timer);
  const over = (): void => {
    clearTimeout(timer);
  };
  req.once("end", over);
  req.once("close", over);
}

/** How to listen. `handle` gets requests with a usable X-Request-Id and answers that carry the common headers. */
export interface HttpServerOptions {
  host: string;
  port: number;
  ids: Ids;
  https: boolean;
  /** How long a request may take to arrive. */ requestMs?: number;
  handle(req: IncomingMessage, res: ServerResponse): void;
  /** Answers a request that is none, in the form of every other refusal. */
  refuse(req: IncomingMessage, res: ServerResponse, failure: Failure): void;
  /** The same for what is no request at all: what to send on the connection. */
  problemOf(failure: Failure, request_id: string): Problem;
}

/** The headers of every answer. */
const commonHeaders = (request_id: string, https: boolean): Record<string, string> => ({
  "X-Request-Id": request_id,
  "X-Api-Version": API_VERSION,
  ...SECURITY,
  ...(https ? { "Strict-Transport-Security": "max-age=31536000" } : {}),
});

function prepare(req: IncomingMessage, res: ServerResponse, ids: Ids, https: boolean): void {
  const given = req.headers["x-request-id"];
  const id = typeof given === "string" && REQUEST_ID.test(given) ? given : ids.uuid();
  req.headers["x-request-id"] = id;
  delete req.headers["x-correlation-id"]; // moleculer-web would take it, unchecked, in place of ours
  for (const [name, value] of Object.entries(commonHeaders(id, https))) res.setHeader(name, value);
}

/** Answers what breaks a connection, where no answer is on its way there, and ends it. */
function connectionRefuser({ ids, https, problemOf }: HttpServerOptions) {
  const latest = new WeakMap<Duplex, ServerResponse>();
  return {
    /** Remembers the request that a connection is at. */
    at: (socket: Duplex, res: ServerResponse): void => {
      latest.set(socket, res);
    },
    refuse(socket: Duplex, failure: Failure | null): void {
      const res = latest.get(socket);
      const isAnswered = res !== undefined && res.headersSent && !(res.writableFinished && res.req.complete);
      if (failure === null || isAnswered || !socket.writable) {
        socket.destroy();
        return;
      }
      const under_way = res === undefined || res.writableFinished ? undefined : res.req.headers["x-request-id"];
      const request_id = String(under_way ?? ids.uuid());
      socket.write(rawAnswer(problemOf(failure, request_id), commonHeaders(request_id, https)));
      socket.destroy();
    },
  };
}

const REASONS: Record<string, string> = {
  EADDRINUSE: "the port is taken; stop the other program or set HTTP_PORT to a free one (0 picks one)",
  EACCES: "this user may not listen on that port; set HTTP_PORT to one above 1023",
  EADDRNOTAVAIL: "this machine has no such address; set HTTP_HOST to one of its own, or 0.0.0.0",
};

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(new Error(`gateway can't listen on ${host}:${port}: ${REASONS[error.code ?? ""] ?? error.message}`)),
    );
    server.listen(port, host, () => {
      const address = server.address();
      if (address !== null && typeof address === "object") resolve(address);
      else reject(new Error(`gateway can't listen on ${host}:${port}`));
    });
  });
}

const reachable = (address: AddressInfo): string => {
  const host = address.address === "0.0.0.0" || address.address === "::" ? "127.0.0.1" : address.address;
  return `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
};

/** The server, with every way that a request may come. */
function serverOf(options: HttpServerOptions, isClosing: () => boolean): Server {
  const connections = connectionRefuser(options);
  const take = (req: IncomingMessage, res: ServerResponse): void => {
    prepare(req, res, options.ids, options.https);
    connections.at(req.socket, res);
    limitBody(req, options.requestMs ?? REQUEST_MS, () => {
      connections.refuse(req.socket, failureOf({ code: "ERR_HTTP_REQUEST_TIMEOUT" }));
    });
    if (isClosing()) res.setHeader("Connection", "close");
  };
  const refuse = (req: IncomingMessage, res: ServerResponse, failure: Failure): void => {
    res.setHeader("Connection", "close");
    options.refuse(req, res, failure);
  };
  const server = createServer(
    {
      headersTimeout: HEADERS_MS,
      requestTimeout: BULK_REQUEST_MS,
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      requireHostHeader: false, // Node's own answer to that has no body
    },
    (req, res) => {
      take(req, res);
      const failure = headerFailure(req);
      if (failure) refuse(req, res, failure);
      else options.handle(req, res);
    },
  );
  server.on("checkExpectation", (req: IncomingMessage, res: ServerResponse) => {
    take(req, res);
    refuse(
      req,
      res,
      new Failure("EXPECTATION_FAILED", "Of what Expect may ask for, 100-continue alone is known here."),
    );
  });
  server.on("connect", (_req: IncomingMessage, socket: Duplex) => {
    connections.refuse(
      socket,
      new Failure("METHOD_NOT_ALLOWED", "This is no proxy; it takes no CONNECT.", { allow: [] }),
    );
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    connections.refuse(socket, failureOf(error));
  });
  return server;
}

/** Starts listening; one sentence says why where it can't. */
export async function openHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  let closing = false;
  const server = serverOf(options, () => closing);
  const address = await listen(server, options.host, options.port);
  return {
    server,
    url: reachable(address),
    async close(graceMs) {
      closing = true;
      const late = setTimeout(() => {
        server.closeAllConnections();
      }, graceMs);
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
      clearTimeout(late);
    },
  };
}
