import { Transporters } from "moleculer";
import type { ConnectionOptions, NatsConnection } from "nats";
import type { Log } from "../process/log.ts";

/**
 * Moleculer's transporter for NATS. What the server refuses this process goes to the log: otherwise a caller of a subject that its user may not
 * publish to waits in vain for an answer, and nobody is told why.
 */
export class BusTransporter extends Transporters.NATS {
  readonly #log: Log;

  constructor(options: ConnectionOptions, log: Log) {
    super(options);
    this.#log = log;
  }

  get #nats(): NatsConnection {
    return this.client;
  }

  override onConnected(wasReconnect?: boolean): Promise<void> {
    void this.#watch();
    return super.onConnected(wasReconnect);
  }

  /** As Moleculer's, which takes the error of a refused subscription for a message. */
  override subscribe(cmd: string, nodeID?: string): Promise<void> {
    this.#nats.subscribe(this.getTopicName(cmd, nodeID), {
      callback: (error, message) => {
        if (error === null) void this.receive(cmd, Buffer.from(message.data));
      },
    });
    return Promise.resolve();
  }

  async #watch(): Promise<void> {
    for await (const { type, data, permissionContext: refused } of this.#nats.status())
      if (type === "error")
        this.#log.error(
          { event: "bus.refused", code: data, operation: refused?.operation, subject: refused?.subject },
          "the NATS server refused this process something: compare its user's permissions with npm run nats:users",
        );
  }
}
