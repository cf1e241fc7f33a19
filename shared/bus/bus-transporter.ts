import { Transporters } from "moleculer";
import type { ConnectionOptions, NatsConnection } from "nats";
import { Failure } from "../errors.ts";
import { isRecord } from "../json.ts";
import type { Log } from "../process/log.ts";
import { serviceOfNode } from "../process/node-id.ts";
import type { Clock } from "../time/clock.ts";
import { metricsOf } from "../metrics/metrics.ts";
import { readinessOf } from "../metrics/readiness.ts";
import { hears } from "./rights.ts";
import { createStallWatch, type StallWatch } from "./stall-watch.ts";

type Packet = Parameters<Transporters.NATS["publish"]>[0];

/** How a lost server is noticed, also one that is silent, and how soon one that is back is found: it is asked for several times a second. */
const CONNECTION = {
  pingInterval: 2000,
  maxPingOut: 2,
  reconnectTimeWait: 250,
  reconnectJitter: 100,
  reconnectJitterTLS: 250,
  maxReconnectAttempts: -1,
} as const satisfies ConnectionOptions;

/** Hints and signs of life of a moment: worth nothing once the bus is back. */
const OF_THE_MOMENT: ReadonlySet<string> = new Set(["EVENT", "HEARTBEAT", "PING", "PONG", "DISCOVER"]);

/** The text is a client's too, so it names no server. */
const AWAY =
  "The parts of the service can't reach each other at the moment; nothing was done. Try again in a few seconds.";

const UNKNOWN =
  "The parts of the service lost each other before the answer came; the request may or may not have taken effect. Look before you repeat it.";

const textOf = (payload: unknown, field: string): string | undefined => {
  const value: unknown = typeof payload === "object" && payload !== null ? Reflect.get(payload, field) : undefined;
  return typeof value === "string" ? value : undefined;
};

const namesIn = (value: unknown): string[] => (isRecord(value) ? Object.keys(value) : []);
const named = (names: readonly string[]): Record<string, { name: string }> =>
  Object.fromEntries(names.map((name) => [name, { name }]));

/**
 * Of the services that a node says it runs, the one that its name allows, by its actions' and events' names alone: one that claims another's would be sent that
 * one's requests, and what it says of how it is to be called (retries, time limits, breakers) Moleculer would obey.
 */
export function ownServices(node: unknown, services: unknown): unknown[] {
  const name = typeof node === "string" ? serviceOfNode(node) : null;
  if (name === null || !Array.isArray(services)) return [];
  return services.flatMap((service: unknown) => {
    if (!isRecord(service) || service["name"] !== name) return [];
    const actions = namesIn(service["actions"]);
    if (!actions.every((action) => action.startsWith(`${name}.`))) return [];
    const events = namesIn(service["events"]).filter((event) => hears(name, event));
    return [{ name, fullName: name, settings: {}, metadata: {}, actions: named(actions), events: named(events) }];
  });
}

/** What a transporter is made of, beside its connection. */
export interface BusTransporterDeps {
  log: Log;
  clock: Clock;
  strict: boolean;
}

/**
 * Moleculer's transporter for NATS, with what a deployment needs when the bus fails:
 * - while the server is away a request is refused at once (DEPENDENCY_DOWN), so that it is never delivered late, when its caller has long given up;
 * - requests under way at that moment fail with it (TIMEOUT): their messages may be lost, and nobody is to wait for them after the server's return;
 * - so do those to a process that another one of its name has followed;
 * - on its return the nodes are asked for at once; each counts as there from its answer on;
 * - a message above the server's limit is never sent: its caller gets an error instead of silence (INTERNAL);
 * - what happens to the connection goes to the log by name: `bus.away`, `bus.back`, `bus.slow_consumer`, `bus.max_payload`, `bus.refused`.
 */
export class BusTransporter extends Transporters.NATS {
  readonly #log: Log;
  readonly #strict: boolean;
  readonly #clock: Clock;
  readonly #stalls: StallWatch;
  /** Monotonic ms since which the server is away; null: it is there. */
  #awaySinceMs: number | null = null;

  /** `strict`: a node is believed to run the service of its name, and no other. */
  constructor(options: ConnectionOptions, { log, clock, strict }: BusTransporterDeps) {
    super({ ...CONNECTION, ...options });
    this.#log = log.child({ service: "bus" });
    this.#clock = clock;
    this.#strict = strict;
    this.#stalls = createStallWatch(clock);
  }

  get #nats(): NatsConnection {
    return this.client;
  }

  override onConnected(wasReconnect?: boolean): Promise<void> {
    void this.#watch();
    readinessOf(this.broker).add("bus", () => (this.#awaySinceMs === null ? null : "the NATS server is away"));
    return super.onConnected(wasReconnect);
  }

  override disconnect(): Promise<void> {
    this.#stalls.stop();
    return super.disconnect();
  }

  /** As Moleculer's, which takes the error of a refused subscription for a message. */
  override subscribe(cmd: string, nodeID?: string): Promise<void> {
    this.#nats.subscribe(this.getTopicName(cmd, nodeID), {
      callback: (error, message) => {
        if (error !== null) return;
        this.#sized(cmd, "received", message.data.length);
        void this.receive(cmd, Buffer.from(message.data));
      },
    });
    return Promise.resolve();
  }

  override deserialize(type: string, buffer: Buffer) {
    const packet = super.deserialize(type, buffer);
    const payload: unknown = packet.payload;
    if (type === "INFO") this.#forgetFormer(textOf(payload, "sender") ?? "", textOf(payload, "instanceID"));
    if (this.#strict && type === "INFO" && isRecord(payload))
      payload["services"] = ownServices(payload["sender"], payload["services"]);
    return packet;
  }

  override prepublish(packet: Packet): Promise<void> {
    if (this.#awaySinceMs === null) return super.prepublish(packet);
    if (packet.type === "REQ") this.#refuse(packet, new Failure("DEPENDENCY_DOWN", AWAY));
    else if (!OF_THE_MOMENT.has(packet.type)) return super.prepublish(packet);
    return Promise.resolve();
  }

  override publish(packet: Packet): Promise<void> {
    const data = this.serialize(packet);
    const limit = this.#nats.info?.max_payload ?? Infinity;
    if (data.length > limit) return this.#tooLarge(packet, data.length, limit);
    this.#sized(packet.type, "sent", data.length);
    return this.send(this.getTopicName(packet.type, packet.target), data);
  }

  #sized(packet: string, direction: "sent" | "received", bytes: number): void {
    metricsOf(this.broker).observe("callagent_bus_message_bytes", { packet, direction }, bytes);
  }

  /** Moleculer lets the caller of a request that can't be sent wait for its time-out. */
  #refuse({ payload }: Packet, failure: Failure): void {
    const id = textOf(payload, "id") ?? "";
    const waiting = this.transit.pendingRequests.get(id);
    this.transit.pendingRequests.delete(id);
    waiting?.reject(failure);
  }

  #tooLarge(packet: Packet, bytes: number, limit: number): Promise<void> {
    const { type, target, payload } = packet;
    const about = textOf(payload, "action") ?? textOf(payload, "event");
    this.#log.error(
      { event: "bus.max_payload", packet: type, about, to: target, bytes, limit },
      "a message is larger than the NATS server takes (max_payload) and was not sent",
    );
    const failure = new Failure("INTERNAL", `A message of ${bytes} bytes is more than the bus takes (${limit}).`);
    if (type === "REQ") this.#refuse(packet, failure);
    if (type !== "RES") return Promise.resolve();
    const { name, message, code, data } = failure;
    const error = { name, message, code, type: failure.type, retryable: false, data, nodeID: this.nodeID };
    packet.payload = { ...payload, success: false, data: null, error };
    return this.send(this.getTopicName(type, target), this.serialize(packet));
  }

  #lost(server: unknown): void {
    if (this.#awaySinceMs !== null) return;
    this.#awaySinceMs = this.#clock.monotonicMs();
    const stoodMs = this.#stalls.recentMs();
    if (stoodMs > 0)
      this.#log.error(
        { event: "bus.slow_consumer", stood_ms: Math.round(stoodMs), server },
        "this process stood still and lost its connection: a NATS server drops a client that does not read what it is sent; give it more CPU or more replicas",
      );
    this.#log.error(
      { event: "bus.away", server },
      "the NATS server is away; requests to other services are refused until it is back",
    );
    for (const { reject } of this.transit.pendingRequests.values()) reject(new Failure("TIMEOUT", UNKNOWN));
    this.transit.pendingRequests.clear();
    this.#forgetNodes();
  }

  /** A node that was killed and is back under its name before it was missed: it knows nothing of what its former process was asked, and nobody is to wait for that. */
  #forgetFormer(node: string, instance: string | undefined): void {
    const known = this.broker.registry.nodes.get(node);
    if (!known?.available || known.local || known.instanceID === null || known.instanceID === instance) return;
    for (const [id, { nodeID, reject }] of this.transit.pendingRequests) {
      if (nodeID !== node) continue;
      this.transit.pendingRequests.delete(id);
      reject(new Failure("TIMEOUT", UNKNOWN));
    }
  }

  /** A node counts as there again when it says so: a request to one that has not reached the server yet would be lost, and waited for. */
  #forgetNodes(): void {
    for (const { id, local } of this.broker.registry.getNodeList({ onlyAvailable: true }))
      if (!local) this.transit.discoverer.remoteNodeDisconnected(id, false);
  }

  #back(server: unknown): void {
    const away_ms = Math.round(this.#clock.monotonicMs() - (this.#awaySinceMs ?? this.#clock.monotonicMs()));
    this.#awaySinceMs = null;
    this.#log.warn({ event: "bus.back", away_ms, server }, "the NATS server is back");
    const { discoverer } = this.transit;
    void Promise.resolve(discoverer.sendLocalNodeInfo())
      .then(() => discoverer.discoverAllNodes())
      .catch((error: unknown) =>
        this.#log.warn({ event: "bus.back", error: String(error) }, "nodes could not be asked for"),
      );
  }

  async #watch(): Promise<void> {
    this.#stalls.start();
    for await (const { type, data, permissionContext: refused } of this.#nats.status()) {
      const what: string = type;
      if (what === "disconnect") this.#lost(data);
      if (what === "reconnect") this.#back(data);
      if (what === "error")
        this.#log.error(
          { event: "bus.refused", code: data, operation: refused?.operation, subject: refused?.subject },
          "the NATS server refused this process something: compare its user's permissions with npm run nats:users",
        );
    }
  }
}
