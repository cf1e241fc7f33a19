import type { IncomingMessage, ServerResponse } from "node:http";
import type { Bus } from "../../../shared/bus/bus.ts";
import { errorForLog, type Log } from "../../../shared/process/log.ts";
import type { SparseLog } from "../../../shared/process/sparse-log.ts";
import type { ErrorCode } from "../../../shared/errors.ts";
import { sendCompressed } from "./compression.ts";
import { problemOf, type ProblemContext } from "./http-errors.ts";

/** One request and its answer, with a bus that carries its trace on. */
export interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
  bus: Bus;
  /** The trace id, also in X-Request-Id. */
  request_id: string;
  /** Values of the path's parameters, decoded. */
  path: Readonly<Record<string, string>>;
  /** Path and query exactly as asked for. */
  target: string;
}

/** Answers one exchange. */
export type Handler = (exchange: Exchange) => Promise<void>;

const UTF8 = "; charset=utf-8";

/** Sends an answer once; a second one is dropped, since the first is on its way. */
export function answer(
  res: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: string | Buffer,
): void {
  if (res.headersSent || res.destroyed) return;
  res.writeHead(status, status === 204 ? headers : { ...headers, "Content-Length": Buffer.byteLength(body) });
  res.end(body);
}

/** Sends a text, compressed where the client takes that and it is long enough. Not for carriers: those get their documents as they are. */
export const answerText = (res: ServerResponse, status: number, headers: Record<string, string>, text: string): void =>
  sendCompressed(res, text, (body, more) => {
    answer(res, status, { ...headers, ...more }, body);
  });

/** Sends a value as JSON. */
export const answerJson = (res: ServerResponse, status: number, value: unknown): void =>
  answerText(res, status, { "Content-Type": `application/json${UTF8}` }, JSON.stringify(value));

/** Sends what was thrown as a problem, and logs what a developer must see. */
export type Refuser = (
  exchange: Pick<Exchange, "req" | "res" | "request_id">,
  error: unknown,
  how: Pick<ProblemContext, "answers" | "body">,
) => void;

/** Refusals by which an attack shows: they are in the log, each code once a minute at most, with how often it came. */
const SECURITY_CODES: ReadonlySet<ErrorCode> = new Set([
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "RATE_LIMITED",
  "SIGNATURE_INVALID",
]);

/** A refuser whose problems point to the page of error codes at `docs`. */
export function refuser(log: Log, docs: string, sparse: SparseLog): Refuser {
  return ({ req, res, request_id }, error, how) => {
    const problem = problemOf(error, { ...how, request_id, docs, token_sent: req.headers.authorization !== undefined });
    const line = {
      event: "http.refused",
      request_id,
      method: req.method,
      status: problem.status,
      code: problem.code,
      ...errorForLog(error),
    };
    if (problem.unexpected)
      log.error(
        { ...line, stack: error instanceof Error ? error.stack : undefined },
        "a request ended in an unexpected error",
      );
    else if (problem.status >= 500) log.warn(line, "a request could not be served");
    else {
      const { event, method, status, code } = line;
      log.info({ event, request_id, method, status, code }, "a request was refused");
      log.debug(line, "why a request was refused");
    }
    if (SECURITY_CODES.has(problem.code))
      sparse.note(problem.code, (times) => {
        log.info({ event: "http.denied", code: problem.code, times, request_id }, "requests are denied");
      });
    answer(res, problem.status, problem.headers, JSON.stringify(problem.body));
  };
}

/** GET answers HEAD too: Node leaves the body out. */
export const withHead = (path: string, handle: Handler): Record<string, Handler> => ({
  [`GET ${path}`]: handle,
  [`HEAD ${path}`]: handle,
});
