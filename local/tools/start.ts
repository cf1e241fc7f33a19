import { join } from "node:path";
import { parseArgs } from "node:util";
import { lockFolder, openFolder, StartError, type Folder } from "./stack/data-folder.ts";
import { followLedger } from "./console/ledger-stream.ts";
import { fromLedger, fromLog } from "./console/console-lines.ts";
import { wantedPort } from "./stack/ports.ts";
import { seed, shellVariables, type Sample } from "./sample/seed.ts";
import { engineNamed } from "./engine-option.ts";
import { startStack, type Stack, type StackOptions } from "./stack/stack.ts";
import { ROOT } from "./stack/project-root.ts";

const DEFAULT_PORTS = { http: 3000, media: 3001, carrier: 3010 };
const RETRY_OFFSET_SECONDS = 10;
const DEFAULT_TIME_SCALE = 3;

const setting = (name: string, fallback: number): number => {
  const value = Number(process.env[name] ?? fallback);
  if (!Number.isFinite(value) || value < 0)
    throw new StartError(`${name} must be a number, not "${process.env[name]}".`);
  return value;
};

function banner(stack: Stack, sample: Sample): string {
  const [first] = sample.templates;
  return [
    "",
    "callagent is running",
    `  base URL             ${stack.baseUrl}`,
    `  docs                 ${stack.httpUrl}/docs`,
    `  admin                ${stack.secrets.admin_email}  password ${stack.secrets.admin_password}`,
    `  reseller_id          ${sample.reseller_id}`,
    `  merchant_id          ${sample.merchant_id}`,
    ...sample.templates.flatMap((t) => [
      `  template_id          ${t.id}  (${t.name})`,
      `  configuration_id     ${t.configuration_id}`,
    ]),
    `  webhook secret       ${sample.webhook_secret}`,
    `  carrier's ledger     ${stack.carrierUrl}/ledger   (simulated: no real phone rings)`,
    "",
    `  The last two digits of a number choose who answers: 01 confirms, 02 reschedules, 06 busy … (docs/tools.md). Ctrl-C stops everything.`,
    first ? "" : "  no sample template was made",
  ].join("\n");
}

const HELP = `npm start -- [--fresh] [--split] [--engine relay|cascade|realtime]
  --fresh  start with empty data
  --split  one process per service over NATS
  --engine how conversations are held: by the carrier's speech (relay), or over real sound`;

function readOptions() {
  return parseArgs({
    options: {
      fresh: { type: "boolean", default: false },
      split: { type: "boolean", default: false },
      engine: { type: "string", default: "relay" },
      help: { type: "boolean", default: false },
    },
  }).values;
}

function openData(fresh: boolean): Folder {
  const folder = openFolder(process.env["CALLAGENT_DATA"] ?? join(ROOT, ".callagent"), false);
  lockFolder(folder);
  if (fresh) openFolder(folder.path, true);
  return folder;
}

const wantedPorts = async (): Promise<Pick<StackOptions, "httpPort" | "mediaPort" | "carrierPort">> => ({
  httpPort: await wantedPort(setting("HTTP_PORT", DEFAULT_PORTS.http), "HTTP_PORT", "the API"),
  mediaPort: await wantedPort(setting("MEDIA_PORT", DEFAULT_PORTS.media), "MEDIA_PORT", "calls' WebSockets"),
  carrierPort: await wantedPort(
    setting("CARRIER_PORT", DEFAULT_PORTS.carrier),
    "CARRIER_PORT",
    "the simulated carrier",
  ),
});

const print = (line: string | null): void => {
  if (line) console.log(line);
};

async function run(): Promise<void> {
  const { fresh, split, engine, help } = readOptions();
  if (help) return console.log(HELP);
  const folder = openData(fresh);
  const stopped = new AbortController();
  const starting = startStack({
    folder,
    split,
    engine: engineNamed(engine),
    ...(await wantedPorts()),
    timeScale: setting("SIM_TIME_SCALE", DEFAULT_TIME_SCALE),
    seed: process.env["SIM_SEED"] ?? "callagent",
    onLog: (line) => print(fromLog(line, new Date())),
    onDeath: (reason) => {
      if (!stopped.signal.aborted) console.error(`! ${reason}; it is started again`);
    },
  });
  const stop = (): void => {
    if (stopped.signal.aborted) return;
    console.log("\nstopping: live calls get a moment to end …");
    stopped.abort();
    void starting
      .then(
        (stack) => stack.stop(),
        () => undefined,
      )
      .then(() => process.exit(0));
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  const stack = await starting;
  const { sample } = await seed(stack, folder, { initial_offset: 0, retry_offset: RETRY_OFFSET_SECONDS });
  folder.writeText("sample.env", shellVariables(stack, sample));
  if (stopped.signal.aborted) return;
  console.log(banner(stack, sample));
  const ledger = followLedger(stack.carrierUrl, (entry) => print(fromLedger(entry)));
  stopped.signal.addEventListener("abort", () => ledger.stop());
}

run().catch((error: unknown) => {
  console.error(error instanceof StartError ? error.message : error);
  process.exit(1);
});
