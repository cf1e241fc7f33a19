import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { Webhook } from "standardwebhooks";

/** `data` of a received report, as far as the demo looks at it. */
export interface Report {
  order_id: string;
  lead_call_tracker_id: string;
  outcome: string;
  attempt_count: number;
  transcription: { role: string; content: string }[];
  trace_scores?: Record<string, number>;
  metaData?: { summary?: string };
}

/** A receiver of reporting webhooks. */
export interface RecordingSink {
  url: string;
  /** Reports whose signature was right, by lead; later ones of the same webhook-id are counted, not kept. */
  reports: Map<string, Report>;
  refused: string[];
  /** While true every delivery is answered 503 and counted in `refused`. */
  ill: boolean;
  repeated: number;
  /** Every delivery whose signature was right, in the order of arrival. */
  delivered: Delivered[];
  close(): Promise<void>;
}

/** One delivery whose signature was right: the bytes as they came, and when (ms since the epoch). */
export interface Delivered {
  webhook_id: string;
  lead_id: string;
  body: string;
  at: number;
  /** The header; null: there was none. */
  traceparent: string | null;
}

const MAX_BODY_BYTES = 1_048_576;

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY_BYTES) throw new Error("body too large");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** Starts one on a free port. Signatures are checked by the reference library of Standard Webhooks; wrong ones are kept in `refused`. */
export async function startRecordingSink(secret: string): Promise<RecordingSink> {
  const checker = new Webhook(secret);
  const sink: RecordingSink = {
    url: "",
    reports: new Map(),
    refused: [],
    ill: false,
    repeated: 0,
    delivered: [],
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)]));
    try {
      const body = await bodyOf(request);
      if (sink.ill) {
        sink.refused.push("ill");
        response.writeHead(503).end();
        return;
      }
      const { data } = checker.verify(body, headers) as { data: Report };
      const lead_id = data.lead_call_tracker_id;
      if (sink.reports.has(lead_id)) sink.repeated++;
      sink.reports.set(lead_id, data);
      sink.delivered.push({
        webhook_id: headers["webhook-id"] ?? "",
        lead_id,
        body,
        at: Date.now(),
        traceparent: headers["traceparent"] ?? null,
      });
      response.writeHead(204).end();
    } catch (error) {
      sink.refused.push(error instanceof Error ? error.message : String(error));
      response.writeHead(400).end();
    }
  };
  const server = createServer((request, response) => {
    void take(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  sink.url = typeof address === "object" && address ? `http://127.0.0.1:${address.port}/reports` : "";
  return sink;
}
