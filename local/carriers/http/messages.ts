import type { IncomingMessage, ServerResponse } from "node:http";

/** An HTTP request, read whole. */
export interface Request {
  method: string;
  path: string;
  query: URLSearchParams;
  form: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: string;
}

/** An answer. `drop` cuts the connection without one; `holdMs` keeps the asker waiting first (real ms). */
export interface Reply {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
  drop?: true;
  holdMs?: number;
}

/** Bodies beyond this are refused with 413. */
const MAX_BODY_BYTES = 1_000_000;

/** Reads a request; null when its body is too large. */
export async function readRequest(message: IncomingMessage): Promise<Request | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    size += bytes.length;
    if (size > MAX_BODY_BYTES) return null;
    chunks.push(bytes);
  }
  const body = Buffer.concat(chunks).toString("utf8");
  const url = new URL(message.url ?? "/", "http://carrier.invalid");
  const isForm = (message.headers["content-type"] ?? "").startsWith("application/x-www-form-urlencoded");
  return {
    method: message.method ?? "GET",
    path: url.pathname,
    query: url.searchParams,
    form: new URLSearchParams(isForm ? body : ""),
    headers: message.headers,
    body,
  };
}

/** Sends an answer; bytes as they are, objects as JSON. */
export function sendReply(response: ServerResponse, reply: Reply): void {
  if (response.destroyed) return;
  if (reply.drop) {
    response.destroy();
    return;
  }
  if (Buffer.isBuffer(reply.body)) {
    response.writeHead(reply.status, {
      "content-type": "application/octet-stream",
      "content-length": reply.body.length,
      ...reply.headers,
    });
    response.end(reply.body);
    return;
  }
  const text = reply.body === undefined ? "" : typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body);
  const type = typeof reply.body === "string" ? "text/plain; charset=utf-8" : "application/json; charset=utf-8";
  response.writeHead(reply.status, {
    ...(text === "" ? {} : { "content-type": type }),
    "content-length": Buffer.byteLength(text),
    ...reply.headers,
  });
  response.end(text);
}
