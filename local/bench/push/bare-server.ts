import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { randomUUID } from "node:crypto";
import { MongoClient } from "mongodb";

/** The floor of the push bench: a bare node:http server that parses a lead and inserts the same document with the same driver into the same collection, and does nothing else. */
const [, , uri = "", port = "0"] = process.argv;
const client = await MongoClient.connect(uri, { maxPoolSize: 50, w: "majority" });
const leads = client.db().collection<{ _id: string }>("leads");

interface Body {
  request_id: string;
  template_id: string;
  reseller_id: string;
  merchant_id: string;
  payload: Record<string, unknown>;
}

/** The document the leads service writes for the same push. */
const documentOf = (body: Body) => {
  const now = new Date();
  return {
    _id: randomUUID(),
    reseller_id: body.reseller_id,
    merchant_id: body.merchant_id,
    template_id: body.template_id,
    template: "order-confirmation",
    request_id: body.request_id,
    status: "BACKLOG",
    outcome: null,
    attempt_count: 0,
    claim_no: 0,
    recoveries: 0,
    phone_number: body.payload["customer_mobile_number"],
    payload: body.payload,
    execution_mode: "TELEPHONY",
    call_direction: "OUTBOUND",
    is_test: false,
    configurations_override: null,
    due_at: new Date(now.getTime() + 86_400_000),
    attempt: null,
    held: null,
    call_id: null,
    call_initiated_time: null,
    call_end_time: null,
    recording_url: null,
    outbound_number_id: null,
    costs: {},
    trace_scores: {},
    meta: {},
    created_at: now,
    updated_at: now,
    finished_at: null,
  };
};

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  const body = JSON.parse(Buffer.concat(parts).toString("utf8")) as Body;
  const lead = documentOf(body);
  await leads.insertOne(lead);
  response.writeHead(201, { "content-type": "application/json" }).end(
    JSON.stringify({
      status: "queued",
      lead_call_tracker_id: lead._id,
      order_id: body.request_id,
      message: "The lead is queued.",
    }),
  );
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
});
server.listen(Number(port), "127.0.0.1", () => {
  const address = server.address();
  console.log(
    JSON.stringify({
      event: "ready",
      url: typeof address === "object" && address ? `http://127.0.0.1:${address.port}` : "",
    }),
  );
});
const stop = (): void => {
  server.closeAllConnections();
  server.close();
  void client.close().then(() => process.exit(0));
};
process.on("SIGTERM", stop);
process.on("disconnect", stop);
