import type { IncomingMessage, ServerResponse } from "node:http";
import { ApiError } from "./chat-request.ts";

/** JSON over HTTP in OpenAI's manner. */

const MOST_BODY_BYTES = 4 * 1024 * 1024;

/** The whole body; throws ApiFault 413 past the most bytes. */
export async function readBytes(request: IncomingMessage, most: number): Promise<Buffer<ArrayBuffer>> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    const bytes = Buffer.from(part);
    size += bytes.length;
    if (size > most) throw new ApiError(413, `Request body is larger than ${most} bytes.`, null, "request_too_large");
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

/** The parsed JSON body; throws ApiFault 413 past 4 MiB and 400 when it is no JSON. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = await readBytes(request, MOST_BODY_BYTES);
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    throw new ApiError(400, "We could not parse the JSON body of your request. The API expects a JSON payload.");
  }
}

/** Sends a JSON body; `id` becomes the x-request-id header. */
export function sendJson(response: ServerResponse, status: number, body: unknown, id?: string): void {
  response.writeHead(status, {
    "content-type": "application/json",
    ...(id === undefined ? {} : { "x-request-id": id }),
    ...(status === 413 ? { connection: "close" } : {}),
  });
  response.end(JSON.stringify(body));
}

/** Sends a refusal in OpenAI's error shape. */
export function sendError(response: ServerResponse, fault: ApiError): void {
  sendJson(response, fault.status, errorBody(fault));
}

/** A refusal in OpenAI's error shape. */
export function errorBody(fault: ApiError): Readonly<Record<string, unknown>> {
  return { error: { message: fault.message, type: errorType(fault.status), param: fault.param, code: fault.code } };
}

/** The kind of error OpenAI gives a status. */
export function errorType(status: number): string {
  if (status === 429) return "requests";
  return status >= 500 ? "server_error" : "invalid_request_error";
}
