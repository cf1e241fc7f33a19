import { STATUS_CODES, type IncomingMessage } from "node:http";
import { Failure, type ErrorCode } from "../../../shared/errors.ts";
import type { Problem } from "./http-errors.ts";

/** What Node's parser and its time-outs call an error -> ours; what is not named here is MALFORMED_REQUEST. */
const CODES: Readonly<Record<string, [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ["HEADERS_TOO_LARGE", "The request's line and headers are larger than 16 KiB together."],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ["BODY_TOO_LARGE", "The extensions of the body's chunks are larger than 16 KiB."],
  ERR_HTTP_REQUEST_TIMEOUT: ["REQUEST_TOO_SLOW", "The request did not arrive in time; send it again without pauses."],
};

/**
 * An error of the HTTP parser as a failure; null where the client is gone, so that nobody would read an answer. Node reports here whatever ended the
 * connection, also an answer that we aborted: a DOMException, whose code is a number.
 */
export function failureOf({ code }: { code?: unknown }): Failure | null {
  if (typeof code !== "string") return null;
  if (!code.startsWith("HPE_") && code !== "ERR_HTTP_REQUEST_TIMEOUT") return null;
  if (code === "HPE_INVALID_EOF_STATE") return null;
  const [ours, detail] = CODES[code] ?? ["MALFORMED_REQUEST", "What was sent is no HTTP/1.1 request (RFC 9112)."];
  return new Failure(ours, detail);
}

/** How often a request has a header. */
const timesSent = ({ rawHeaders }: Pick<IncomingMessage, "rawHeaders">, header: string): number =>
  rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === header).length;

/**
 * Why a request that the parser took is none; null: it is one. Its Host header is missing or there are several (RFC 9112, 3.2); its line may name no other
 * host, for nothing here depends on one. Or it has several of Authorization (RFC 9110, 5.3): Node takes the first, and a proxy may have judged another.
 */
export function headerFailure(req: Pick<IncomingMessage, "rawHeaders" | "httpVersion">): Failure | null {
  const hosts = timesSent(req, "host");
  if (hosts === 0 && req.httpVersion !== "1.0")
    return new Failure("MALFORMED_REQUEST", "The request has no Host header; send one.");
  for (const [header, times] of [
    ["Host", hosts],
    ["Authorization", timesSent(req, "authorization")],
  ] as const)
    if (times > 1) return new Failure("MALFORMED_REQUEST", `The request has more than one ${header} header; send one.`);
  return null;
}

/** A problem as the bytes of an answer, for a connection on which there is no request that could be answered. The connection ends with it. */
export function rawAnswer({ status, headers, body }: Problem, common: Readonly<Record<string, string>>): string {
  const text = JSON.stringify(body);
  const lines = Object.entries({
    ...common,
    ...headers,
    "Content-Length": Buffer.byteLength(text),
    Connection: "close",
  });
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${text}`;
}
