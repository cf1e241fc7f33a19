import { Transporters } from "moleculer";
import type { ConnectionOptions, NatsConnection } from "nats";
import { isRecord } from "../json.ts";
import type { Log } from "../process/log.ts";
import { serviceOfNode } from "../process/node-id.ts";

/** Of the services that a node says it runs, those that its name allows: one that claims another's would be sent that one's requests. */
export function ownServices(node: unknown, services: unknown): unknown[] {
  const name = typeof node === "string" ? serviceOfNode(node) : null;
  if (name === null || !Array.isArray(services)) return [];
  return services.filter(
    (service: unknown) =>
      isRecord(service) &&
      service["name"] === name &&
      Object.keys(isRecord(service["actions"]) ? service["actions"] : {}).every((a) => a.startsWith(`${name}.`)),
  );
}

/**
 * Moleculer's transporter for NATS. What the server refuses this process goes to the log: otherwise a caller of a subject that its user may not
 * publish to waits in vain for an answer, and nobody is told why.
 */
export class BusTransporter extends Transporters.NATS {
  readonly #log: Log;
  readonly #strict: boolean;

  /** `strict`: a node is believed to run the service of its name, and no other. */
  constructor(options: ConnectionOptions, log: Log, strict: boolean) {
    super(options);
    this.#log = log;
    this.#strict = strict;
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

  override deserialize(type: string, buffer: Buffer) {
    const packet = super.deserialize(type, buffer);
    const payload: unknown = packet.payload;
    if (this.#strict && type === "INFO" && isRecord(payload))
      payload["services"] = ownServices(payload["sender"], payload["services"]);
    return packet;
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
