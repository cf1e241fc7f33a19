import type { BrokerOptions } from "moleculer";
import { ownDeps } from "./shared/process/process-deps.ts";
import { BusValidator } from "./shared/bus/bus-validator.ts";

const { env } = ownDeps();

const HEARTBEAT_SECONDS = 3;
const HEARTBEAT_TIMEOUT_SECONDS = 10;
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_CALL_LEVEL = 20;

const levels: Record<string, "fatal" | "error" | "warn"> = { fatal: "fatal", silent: "fatal", error: "error" };

/** The broker of every process; only the environment differs. Bus retries and circuit breaker stay off. */
const config: BrokerOptions = {
  namespace: env.NAMESPACE,
  nodeID: env.NODE_ID ?? null,
  // the types of 0.15.2 leave out URL strings, which the code accepts
  transporter: (env.TRANSPORTER ?? null) as NonNullable<BrokerOptions["transporter"]> | null,
  validator: new BusValidator(),
  requestTimeout: REQUEST_TIMEOUT_MS,
  heartbeatInterval: HEARTBEAT_SECONDS,
  heartbeatTimeout: HEARTBEAT_TIMEOUT_SECONDS,
  maxCallLevel: MAX_CALL_LEVEL,
  tracking: { enabled: true, shutdownTimeout: env.SHUTDOWN_GRACE_SECONDS * 1000 },
  transit: { serviceChangedDebounceTime: 0 } as NonNullable<BrokerOptions["transit"]>,
  metrics: false,
  tracing: false,
  logger: {
    type: "Pino",
    options: { level: levels[env.LOG_LEVEL] ?? "warn", pino: { options: { base: { service: "bus" } } } },
  },
};
export default config;
