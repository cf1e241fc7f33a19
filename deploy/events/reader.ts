/** Reads the events of a tenant, or all, from the stream of the NATS server, each once (docs/events.md). Ctrl-C ends it; it goes on where it was. */
import { readFileSync } from "node:fs";
import { connect, nkeyAuthenticator } from "nats";

const { NATS_URL = "", READER = "", READER_KEY = "" } = process.env;
const connection = await connect({
  servers: NATS_URL,
  authenticator: nkeyAuthenticator(() => Buffer.from(readFileSync(READER_KEY, "utf8").trim())),
  inboxPrefix: `_INBOX.reader-${READER}`,
});
const consumer = await connection.jetstream({ checkAPI: false }).consumers.get("CALLAGENT_EVENTS", READER);
process.once("SIGINT", () => void connection.drain());

const worked = new Set<string>();
for await (const message of await consumer.consume()) {
  const event = message.json<{ id: string; type: string; subject: string; seq: number }>();
  if (!worked.has(event.id)) process.stdout.write(`${event.type} ${event.subject}\n`);
  worked.add(event.id); // in a database, with what the event led to
  message.ack();
}
