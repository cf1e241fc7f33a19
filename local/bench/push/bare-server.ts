import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { EJSON } from "bson";
import { MongoClient } from "mongodb";
import { bareLead, type BareBody, type StoredLead } from "./bare-lead.ts";

/**
 * The peer of the push bench: a bare node:http server that parses a lead and inserts a document like the product's with the same driver, and does nothing else. `BARE_LEAD`: a lead as the
 * product stored it. It inserts one at a time; the product puts pushes of one moment into one insert.
 */
const [, , uri = ""] = process.argv;
const client = await MongoClient.connect(uri, { maxPoolSize: 50, w: "majority" });
const leads = client.db().collection<StoredLead>("leads");
const stored = EJSON.parse(process.env["BARE_LEAD"] ?? "") as StoredLead;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  const body = JSON.parse(Buffer.concat(parts).toString("utf8")) as BareBody;
  const lead = bareLead(stored, body, new Date());
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
server.listen(0, "127.0.0.1", () => {
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
