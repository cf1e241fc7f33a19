import type { BrokerOptions } from "moleculer";
import { ownDeps } from "./shared/process/process-deps.ts";
import { leaveDrained, StayingFirst } from "./shared/bus/drain.ts";
import { BusTransporter } from "./shared/bus/bus-transporter.ts";
import { BusValidator } from "./shared/bus/bus-validator.ts";
import { natsOptions } from "./shared/bus/nats-options.ts";
import { hideFromRunner } from "./shared/process/env.ts";
import { brokerLogger } from "./shared/process/log.ts";
import { monitor } from "./shared/metrics/monitor.ts";

const { env, log, clock } = ownDeps();
hideFromRunner(["TRANSPORTER"]);
const nats = natsOptions(env);

const HEARTBEAT_SECONDS = 3;
const HEARTBEAT_TIMEOUT_SECONDS = 10;
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_CALL_LEVEL = 20;
/** Requests under way when the process has drained get this long: a little more than any of them may take. */
const LAST_REQUESTS_SECONDS = 30;

const levels: Record<string, "fatal" | "error" | "warn"> = { fatal: "fatal", silent: "fatal", error: "error" };

/** The broker of every process; only the environment differs. Bus retries and circuit breaker stay off. */
const config: BrokerOptions = {
  namespace: env.NAMESPACE,
  nodeID: env.NODE_ID ?? null,
  transporter: nats && new BusTransporter(nats, { log, clock, strict: env.BUS_TRUST === "signed" }),
  validator: new BusValidator(),
  requestTimeout: REQUEST_TIMEOUT_MS,
  heartbeatInterval: HEARTBEAT_SECONDS,
  heartbeatTimeout: HEARTBEAT_TIMEOUT_SECONDS,
  maxCallLevel: MAX_CALL_LEVEL,
  tracking: { enabled: true, shutdownTimeout: Math.min(env.SHUTDOWN_GRACE_SECONDS, LAST_REQUESTS_SECONDS) * 1000 },
  registry: { strategy: StayingFirst },
  created: leaveDrained,
  middlewares: [monitor],
  transit: { serviceChangedDebounceTime: 0 } as NonNullable<BrokerOptions["transit"]>,
  // their $node.options would tell the bus where the bus is and with which password
  internalServices: false,
  metrics: false,
  tracing: false,
  logger: brokerLogger(log, levels[env.LOG_LEVEL] ?? "warn"),
};
export default config;
