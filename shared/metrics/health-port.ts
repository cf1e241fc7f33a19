import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { TEXT_TYPE, type Metrics } from "./metrics.ts";
import type { Readiness } from "./readiness.ts";

/** A listening health port. */
export interface HealthPort {
  /** `http://host:port`, with the port that was chosen. */
  url: string;
  close(): Promise<void>;
}

/** What the port tells of. */
export interface HealthPortDeps {
  metrics: Pick<Metrics, "text">;
  readiness: Pick<Readiness, "faults">;
}

/** Whoever asks is a probe or a scraper: few, short and patient. */
const MAX_CONNECTIONS = 64;
const REQUEST_MS = 5000;

function answer(res: ServerResponse, status: number, type: string, text: string, head: boolean): void {
  res.writeHead(status, {
    "Content-Type": type,
    "Content-Length": Buffer.byteLength(text),
    "Cache-Control": "no-store",
  });
  res.end(head ? "" : text);
}

/** One answer for all who ask at the same time. */
function shared<T>(ask: () => Promise<T>): () => Promise<T> {
  let asking: Promise<T> | null = null;
  return () =>
    (asking ??= ask().finally(() => {
      asking = null;
    }));
}

/**
 * Opens the port: `/live` 200 while the event loop turns; `/ready` 200, or 503 with the reasons; `/metrics` in the text format of Prometheus.
 * It knows no secret and no tenant, and asks nobody who they are: it belongs on loopback or a network of the deployment's own. Rejects with the system's error.
 */
export async function openHealthPort(host: string, port: number, deps: HealthPortDeps): Promise<HealthPort> {
  const text = shared(() => deps.metrics.text());
  const handle = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const head = req.method === "HEAD";
    const json = (status: number, body: object): void =>
      answer(res, status, "application/json; charset=utf-8", `${JSON.stringify(body)}\n`, head);
    if (!head && req.method !== "GET") return json(405, { error: "only GET and HEAD" });
    const path = (req.url ?? "").split("?")[0];
    if (path === "/live") return json(200, { status: "live" });
    if (path === "/ready") {
      const reasons = deps.readiness.faults();
      return reasons.length === 0 ? json(200, { status: "ready" }) : json(503, { status: "not_ready", reasons });
    }
    if (path === "/metrics") return answer(res, 200, TEXT_TYPE, await text(), head);
    return json(404, { error: "there is /live, /ready and /metrics" });
  };
  const server = createServer((req, res) => {
    handle(req, res).catch(() => res.destroy());
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.requestTimeout = REQUEST_MS;
  server.headersTimeout = REQUEST_MS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve());
  });
  const { address, family, port: chosen } = server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${chosen}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
