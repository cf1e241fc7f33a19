import { createWriteStream, existsSync, type WriteStream } from "node:fs";
import { delimiter, join } from "node:path";
import type { Engine } from "../../../shared/contracts/models.ts";
import { createSigner } from "../../carriers/telnyx/signature.ts";
import { StartError, type Folder } from "./data-folder.ts";
import { freePort } from "./ports.ts";
import { localSecrets, type LocalSecrets } from "./secrets.ts";
import { startChild, type Child } from "./supervisor.ts";

/** The project's root folder. */
export const ROOT = join(import.meta.dirname, "..", "..", "..");

/** Every service, in the order in which a split stack starts them. */
export const SERVICES = [
  "merchants",
  "blacklist",
  "numbers",
  "config",
  "leads",
  "webhook",
  "auth",
  "conversation",
  "dialer",
  "scheduler",
  "gateway",
] as const;

/** The name of a service. */
export type ServiceName = (typeof SERVICES)[number];

/** Puts something (a proxy) between the services and what they stand on: given the real address, the one that a child is told. */
export interface Between {
  store?(url: string): Promise<string>;
  carrier?(url: string): Promise<string>;
  bus?(url: string, child: string): Promise<string>;
}

/** A line of a service's log. */
export interface LogLine {
  level?: string;
  event?: string;
  service?: string;
  msg?: string;
  [field: string]: unknown;
}

/** What a stack is made of. Ports 0 are chosen. `env` goes to the services on top of the defaults. */
export interface StackOptions {
  folder: Folder;
  split: boolean;
  httpPort: number;
  mediaPort: number;
  carrierPort: number;
  timeScale: number;
  seed: string;
  /** Name of the database, where it is not the one MONGODB_URI names or `callagent`. */
  database?: string;
  /** How many processes run a service where it is not one; of a split stack only, and never of the gateway, whose port is one. */
  replicas?: Partial<Record<Exclude<ServiceName, "gateway">, number>>;
  between?: Between;
  /** How talks are held where template and configuration name no engine; absent: relay, whose speech can run faster than the clock. */
  engine?: Engine;
  /** Files and sockets that each service process may have open; absent: as many as this one. */
  openFiles?: number;
  env?: Record<string, string>;
  onLog(line: LogLine): void;
  onDeath(said: string): void;
}

/** A running stack. */
export interface Stack {
  baseUrl: string;
  httpUrl: string;
  carrierUrl: string;
  secrets: LocalSecrets;
  mongoUri: string;
  children: Map<string, Child>;
  /** The names of the children that run services. */
  serviceChildren: string[];
  stop(): Promise<void>;
}

const BASE_PATH = "/agent/voice/callagent";
/** What the simulated carrier's account may place. */
export const LAPTOP_CALLS_PER_SECOND = 50;
/** The hosted model that a person with a key of their own gets, where they name none. */
export const LAPTOP_MODEL = "gpt-5.4-mini";
const READY_MS = 60_000;
const POLL_MS = 100;
const SERVICES_GRACE_MS = 3500;
const CHILD_GRACE_MS = 1000;

const script = (name: string): string => join(ROOT, "local", name);

function parseLog(line: string): LogLine | null {
  if (!line.startsWith("{")) return null;
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return null;
  }
}

const onPath = (program: string): boolean =>
  (process.env["PATH"] ?? "").split(delimiter).some((dir) => existsSync(join(dir, program)));

/** The simulated carriers: Twilio, Plivo and Telnyx, each with an account. */
function carrierEnv(url: string, seed: string, secrets: LocalSecrets): Record<string, string> {
  const carriers = { PROVIDER_ONE: "twilio", PROVIDER_TWO: "plivo", PROVIDER_THREE: "telnyx" };
  return {
    ...carriers,
    ...Object.fromEntries(
      Object.keys(carriers).map((provider) => [`${provider}_CALLS_PER_SECOND`, String(LAPTOP_CALLS_PER_SECOND)]),
    ),
    TWILIO_ACCOUNT_SID: secrets.twilio_account_sid,
    TWILIO_AUTH_TOKEN: secrets.twilio_auth_token,
    TWILIO_API_BASE: url,
    PLIVO_AUTH_ID: secrets.plivo_auth_id,
    PLIVO_AUTH_TOKEN: secrets.plivo_auth_token,
    PLIVO_API_BASE: url,
    TELNYX_CONNECTION_ID: secrets.telnyx_connection_id,
    TELNYX_API_KEY: secrets.telnyx_api_key,
    TELNYX_PUBLIC_KEY: createSigner(seed).publicKey,
    TELNYX_API_BASE: url,
  };
}

/** The same accounts as the simulator is told of them. */
const accountsOf = (secrets: LocalSecrets): string[] => [
  "--account",
  `${secrets.twilio_account_sid}:${secrets.twilio_auth_token}`,
  "--plivo-account",
  `${secrets.plivo_auth_id}:${secrets.plivo_auth_token}`,
  "--telnyx-account",
  `${secrets.telnyx_connection_id}:${secrets.telnyx_api_key}`,
];

/** The simulator's models of speech, unless a person has named some of their own. */
function speechEnv(url: string, key: string): Record<string, string> {
  const model = "callagent-sim";
  return Object.fromEntries(
    ["STT", "TTS", "REALTIME"].flatMap((kind): [string, string][] =>
      process.env[`${kind}_BASE_URL`] === undefined
        ? [
            [`${kind}_BASE_URL`, url],
            [`${kind}_API_KEY`, key],
            [`${kind}_MODEL`, model],
          ]
        : Object.entries(process.env).flatMap(([name, value]): [string, string][] =>
            name.startsWith(`${kind}_`) && value !== undefined ? [[name, value]] : [],
          ),
    ),
  );
}

/** The environment the services run in: the laptop's defaults under whatever the person set. */
function serviceEnv(o: {
  http: number;
  media: number;
  carrier: string;
  models: string;
  mongo: string;
  recordings: string;
  seed: string;
  secrets: LocalSecrets;
  engine: Engine;
  extra: Record<string, string>;
}): Record<string, string> {
  const own = process.env["OPENAI_API_KEY"];
  const model: Record<string, string> = own
    ? {
        OPENAI_API_KEY: own,
        OPENAI_MODEL: process.env["OPENAI_MODEL"] ?? LAPTOP_MODEL,
        ...(process.env["OPENAI_BASE_URL"] ? { OPENAI_BASE_URL: process.env["OPENAI_BASE_URL"] } : {}),
      }
    : { OPENAI_API_KEY: o.secrets.model_key, OPENAI_BASE_URL: o.models, OPENAI_MODEL: "callagent-sim" };
  return {
    LOG_LEVEL: process.env["LOG_LEVEL"] ?? "info",
    HTTP_HOST: "127.0.0.1",
    HTTP_PORT: String(o.http),
    PUBLIC_HTTP_URL: `http://127.0.0.1:${o.http}`,
    MEDIA_HOST: "127.0.0.1",
    MEDIA_PORT: String(o.media),
    PUBLIC_WS_URL: `ws://127.0.0.1:${o.media}`,
    MONGODB_URI: o.mongo,
    ADMIN_EMAIL: o.secrets.admin_email,
    ADMIN_PASSWORD: o.secrets.admin_password,
    JWT_PRIVATE_KEY: o.secrets.jwt_private_key,
    RECORDINGS_DIR: o.recordings,
    ...carrierEnv(o.carrier, o.seed, o.secrets),
    WEBHOOK_ALLOW_HTTP: "true",
    WEBHOOK_ALLOW_PRIVATE: "true",
    SHUTDOWN_GRACE_SECONDS: "2",
    ...model,
    ...speechEnv(o.models, o.secrets.model_key),
    ENGINE_DEFAULT: o.engine,
    ...o.extra,
  };
}

const RUNNER = [
  join(ROOT, "node_modules", "moleculer", "bin", "moleculer-runner.js"),
  "--config",
  join(ROOT, "moleculer.config.ts"),
  "--mask",
  "**/*.service.ts",
];
const TETHER = ["--import", script("tools/stack/parent-watch.ts")];

/** The processes of a split stack: the first of each service has its name, the others a number behind it. Each conversation listens on a port of its own. */
async function splitChildren(
  replicas: NonNullable<StackOptions["replicas"]>,
): Promise<{ name: string; service: ServiceName; env: Record<string, string> }[]> {
  const children: { name: string; service: ServiceName; env: Record<string, string> }[] = [];
  for (const service of SERVICES) {
    const many = service === "gateway" ? 1 : (replicas[service] ?? 1);
    for (let i = 1; i <= many; i++) {
      const port = service === "conversation" && i > 1 ? await freePort() : null;
      children.push({
        name: i === 1 ? service : `${service}-${i}`,
        service,
        env: port === null ? {} : { MEDIA_PORT: String(port), PUBLIC_WS_URL: `ws://127.0.0.1:${port}` },
      });
    }
  }
  return children;
}

/** How a service process is run, under a limit of open files where one is asked for. */
const running = (args: string[], openFiles: number | undefined): { args: string[]; command?: string } =>
  openFiles === undefined
    ? { args }
    : { command: "sh", args: ["-c", `ulimit -n ${openFiles}; exec "$0" "$@"`, process.execPath, ...args] };

async function waitReady(httpUrl: string, dead: () => string | null): Promise<void> {
  const end = performance.now() + READY_MS;
  let reason = "the gateway does not answer";
  while (performance.now() < end) {
    const said = dead();
    if (said) throw new StartError(said);
    const answer = await fetch(`${httpUrl}/health/ready`).catch(() => null);
    if (answer?.ok) return;
    if (answer) reason = (await answer.text()).slice(0, 500);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new StartError(`The service did not become ready within ${READY_MS / 1000} s: ${reason}`);
}

/** Starts store, carrier, models and services, and waits until leads can be pushed. What was started is stopped again when something fails. */
export async function startStack(o: StackOptions): Promise<Stack> {
  const secrets = localSecrets(o.folder);
  const children = new Map<string, Child>();
  const log: WriteStream = createWriteStream(o.folder.at("callagent.log"), { flags: "w" });
  let death: string | null = null;
  const begin = async (
    name: string,
    args: string[],
    options: { env?: Record<string, string>; ready: "line" | "none"; command?: string },
  ): Promise<Child> => {
    const child = await startChild({
      name,
      args,
      env: options.env ?? {},
      ready: options.ready,
      restart: true,
      ...(options.command ? { command: options.command } : {}),
      onLine: (line) => {
        log.write(`${line}\n`);
        const parsed = parseLog(line);
        if (parsed) o.onLog(parsed);
      },
      onDeath: (said) => {
        log.write(`${said}\n`);
        death = said;
        o.onDeath(said);
      },
    });
    children.set(name, child);
    return child;
  };
  const serviceChildren: string[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(serviceChildren.map((name) => children.get(name)?.stop(SERVICES_GRACE_MS)));
    await Promise.all(
      [...children]
        .filter(([name]) => !serviceChildren.includes(name) && name !== "store")
        .map(([, c]) => c.stop(CHILD_GRACE_MS)),
    );
    await children.get("store")?.stop(CHILD_GRACE_MS);
    await new Promise<void>((resolve) => log.end(() => resolve()));
  };

  try {
    const given = process.env["MONGODB_URI"];
    const [storePort, modelsPort, natsPort] = [await freePort(), await freePort(), await freePort()];
    const [store, carrier, models] = await Promise.all([
      given
        ? null
        : begin("store", [script("store/main.ts"), "--port", String(storePort), "--dir", o.folder.at("store")], {
            ready: "line",
          }),
      begin(
        "carrier",
        [
          script("carriers/main.ts"),
          "--port",
          String(o.carrierPort),
          "--time-scale",
          String(o.timeScale),
          "--seed",
          o.seed,
          ...accountsOf(secrets),
          "--ledger-file",
          o.folder.at("ledger.ndjson"),
        ],
        { ready: "line" },
      ),
      begin("models", [script("models/main.ts"), "--port", String(modelsPort), "--key", secrets.model_key], {
        ready: "line",
      }),
    ]);
    const mongo = new URL(given ?? store?.url ?? "");
    if (o.database || !given) mongo.pathname = `/${o.database ?? "callagent"}`;
    const through = o.between ?? {};
    const [toCarrier, toStore] = [
      (await through.carrier?.(carrier.url)) ?? carrier.url,
      (await through.store?.(mongo.href)) ?? mongo.href,
    ];
    const env = serviceEnv({
      http: o.httpPort,
      media: o.mediaPort,
      carrier: toCarrier,
      models: models.url,
      mongo: toStore,
      recordings: o.folder.at("recordings"),
      seed: o.seed,
      secrets,
      engine: o.engine ?? "relay",
      extra: o.env ?? {},
    });
    if (o.split) {
      if (!onPath("nats-server"))
        throw new StartError(
          "nats-server is not on the PATH: install it (Debian: apt install nats-server), or start without --split.",
        );
      await begin("nats", ["--addr", "127.0.0.1", "--port", String(natsPort)], {
        ready: "none",
        command: "nats-server",
      });
      const natsUrl = `nats://127.0.0.1:${natsPort}`;
      for (const child of await splitChildren(o.replicas ?? {})) {
        serviceChildren.push(child.name);
        const TRANSPORTER = (await through.bus?.(natsUrl, child.name)) ?? natsUrl;
        const { args, ...how } = running([...TETHER, ...RUNNER, join("services", child.service)], o.openFiles);
        await begin(child.name, args, {
          ...how,
          ready: "none",
          env: { ...env, ...child.env, TRANSPORTER, NODE_ID: child.name },
        });
      }
    } else {
      serviceChildren.push("services");
      const { args, ...how } = running([...TETHER, ...RUNNER, "services"], o.openFiles);
      await begin("services", args, { ...how, ready: "none", env });
    }
    const httpUrl = `http://127.0.0.1:${o.httpPort}`;
    await waitReady(httpUrl, () => death);
    o.folder.writeJson("run.json", {
      pid: process.pid,
      http_url: httpUrl,
      carrier_url: carrier.url,
      children: Object.fromEntries([...children].map(([name, c]) => [name, c.pid()])),
    });
    return {
      baseUrl: `${httpUrl}${BASE_PATH}`,
      httpUrl,
      carrierUrl: carrier.url,
      secrets,
      mongoUri: mongo.href,
      children,
      serviceChildren,
      stop: async () => {
        await stop();
        o.folder.remove("run.json");
      },
    };
  } catch (error) {
    await stop();
    o.folder.remove("run.json");
    throw error;
  }
}
