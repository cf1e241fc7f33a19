import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
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
export interface Sink {
  url: string;
  /** Reports whose signature was right, by lead; later ones of the same webhook-id are counted, not kept. */
  reports: Map<string, Report>;
  refused: string[];
  repeated: number;
  close(): Promise<void>;
}

const MAX_BODY = 1_048_576;

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY) throw new Error("body too large");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** Starts a receiver on a free port. Signatures are checked by the reference library of Standard Webhooks. */
export async function startSink(secret: string, onReport: () => void): Promise<Sink> {
  const checker = new Webhook(secret);
  const sink: Sink = {
    url: "",
    reports: new Map(),
    refused: [],
    repeated: 0,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)]));
    try {
      const { data } = checker.verify(await bodyOf(request), headers) as { data: Report };
      if (sink.reports.has(data.lead_call_tracker_id)) sink.repeated++;
      sink.reports.set(data.lead_call_tracker_id, data);
      response.writeHead(204).end();
      onReport();
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
