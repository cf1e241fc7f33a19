import { createServer } from "node:http";
import { AckPolicy, nanos, type Consumer, type NatsConnection } from "nats";
import { EVENT_STREAM } from "../../shared/contracts/events/event-subjects.ts";

/** What was not acknowledged is given again after this. */
const ACK_WAIT_MS = 5000;

/** An endpoint of webhooks, which answers each request with the status that `take` gives for its body. */
export async function receiveBodies(take: (body: string) => number): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    let body = "";
    request
      .on("data", (some) => {
        body += String(some);
      })
      .on("end", () => response.writeHead(take(body)).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    url: typeof address === "object" && address ? `http://127.0.0.1:${address.port}/events` : "",
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A durable consumer of the events, made where there is none, with the settings that the leads service gives one: what is given again comes before the next one. */
export async function durableConsumer(connection: NatsConnection, durable_name: string): Promise<Consumer> {
  const manager = await connection.jetstreamManager();
  await manager.consumers.add(EVENT_STREAM, {
    durable_name,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    max_ack_pending: 1,
  });
  return connection.jetstream().consumers.get(EVENT_STREAM, durable_name);
}
