import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { verifyWebhook, WebhookRefused } from "../../../deploy/client/webhooks.ts";

/** How to start the sink. */
export interface SinkOptions {
  /** 0 takes a free port. */
  port: number;
  host: string;
  /** Signing secrets (`whsec_…`) that are believed; with none, everything is taken and shown as unchecked. */
  secrets: readonly string[];
  nowSeconds(): number;
}

/** One webhook as it came. */
export interface Received {
  webhook_id: string;
  received_at: string;
  signature: "valid" | "invalid" | "unchecked";
  fault: string | null;
  path: string;
  body: unknown;
}

/** A receiver of webhooks. */
export interface Sink {
  url: string;
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 1_048_576;
/** The oldest go when more have come. */
const MAX_KEPT = 1000;
const MS_PER_SECOND = 1000;

async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY_BYTES) return null;
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, {
    "content-type": "application/json",
    ...(status === 413 ? { connection: "close" } : {}),
  });
  response.end(`${JSON.stringify(body, null, 2)}\n`);
}

/** What keeps a request from being believed, as a sentence; null: nothing, or there is no secret to check it with. */
function faultOf({ secrets, nowSeconds }: SinkOptions, { headers }: IncomingMessage, body: string): string | null {
  if (secrets.length === 0) return null;
  try {
    verifyWebhook(headers, body, secrets, nowSeconds());
    return null;
  } catch (error) {
    if (error instanceof WebhookRefused) return error.message;
    throw error;
  }
}

/** Takes one webhook in: 200 when it is believed, 400 when its signature is wrong, 413 when it is too large. */
async function take(
  options: SinkOptions,
  kept: Received[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await bodyOf(request);
  if (body === null) {
    answer(response, 413, { message: `a webhook may have ${MAX_BODY_BYTES} bytes` });
    return;
  }
  const fault = faultOf(options, request, body);
  const signature = options.secrets.length === 0 ? "unchecked" : fault === null ? "valid" : "invalid";
  kept.push({
    webhook_id: String(request.headers["webhook-id"] ?? ""),
    received_at: new Date(options.nowSeconds() * MS_PER_SECOND).toISOString(),
    signature,
    fault,
    path: request.url ?? "/",
    body: parsed(body),
  });
  if (kept.length > MAX_KEPT) kept.shift();
  answer(response, fault === null ? 200 : 400, { signature, ...(fault === null ? {} : { message: fault }) });
}

/**
 * Starts a receiver of webhooks: POST to any path is one, GET / lists them, newest first; DELETE / forgets them.
 * Rejects with the system's error when the port is taken.
 */
export async function startSink(options: SinkOptions): Promise<Sink> {
  const kept: Received[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === "POST") {
      await take(options, kept, request, response);
      return;
    }
    if (request.method === "DELETE") kept.length = 0;
    else if (request.method !== "GET") {
      answer(response, 405, { message: "POST a webhook, GET / for the list, DELETE / to forget it" });
      return;
    }
    const ids = new Set(kept.map((r) => r.webhook_id));
    answer(response, 200, { received: kept.length, different: ids.size, webhooks: kept.toReversed() });
  };
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      if (!response.headersSent) answer(response, 500, { message: `the sink failed: ${String(error)}` });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${options.host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
