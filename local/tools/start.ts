import { join } from "node:path";
import { runCommand, type Asked } from "../../shared/process/command-line.ts";
import { START } from "./commands.ts";
import { lockFolder, openFolder, StartError, type Folder } from "./stack/data-folder.ts";
import { callsUnderWay, followLedger } from "./console/ledger-stream.ts";
import { fromLedger, fromLog } from "./console/console-lines.ts";
import { passedVariables } from "./stack/own-variables.ts";
import { freePort, wantedPort } from "./stack/ports.ts";
import { openTalkDoor } from "./talk/talk-door.ts";
import { apiClient, login } from "./api-client.ts";
import { seed, shellVariables, type Sample } from "./sample/seed.ts";
import { startStack, type Stack, type StackOptions } from "./stack/stack.ts";
import { ROOT } from "./stack/project-root.ts";

const DEFAULT_PORTS = { http: 3000, media: 3001, carrier: 3010 };
const RETRY_OFFSET_SECONDS = 10;
const DEFAULT_TIME_SCALE = 3;
/** Calls get this long to end where SHUTDOWN_GRACE_SECONDS is not set. */
const DEFAULT_GRACE_SECONDS = 60;
/** The processes get this much longer to shut down. */
const LAST_SECONDS = 5;
/** Signals this close together are one. */
const SAME_MS = 300;
/** Exit status of who was told twice to end: 128 and the number of SIGINT. */
const ENDED_AT_ONCE = 130;

const setting = (name: string, fallback: number): number => {
  const value = Number(process.env[name] ?? fallback);
  if (!Number.isFinite(value) || value < 0)
    throw new StartError(`${name} must be a number, not "${process.env[name]}".`);
  return value;
};

function banner(stack: Stack, sample: Sample, talk: string): string {
  const [first] = sample.templates;
  return [
    "",
    "callagent is running",
    `  base URL             ${stack.baseUrl}`,
    `  docs                 ${stack.httpUrl}/docs`,
    `  talk to the agent    ${talk}   (in a browser on this machine)`,
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
    `  The last two digits of a number choose who answers: 01 confirms, 02 reschedules, 06 busy … (docs/tools.md). Ctrl-C lets calls end and stops everything.`,
    first ? "" : "  no sample template was made",
  ].join("\n");
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

/** Calls `first` at the first Ctrl-C and `second` at the next. One Ctrl-C comes more than once: from the terminal, from npm and from the launcher. */
function onSignals(first: () => void, second: () => void): void {
  let at = -Infinity;
  const told = (): void => {
    const before = at;
    at = performance.now();
    if (before === -Infinity) first();
    else if (at - before > SAME_MS) second();
  };
  process.on("SIGINT", told);
  process.on("SIGTERM", told);
}

/** Says what it does, and does it: calls may go on for the grace. */
async function stopPolitely(stack: Stack, graceSeconds: number): Promise<void> {
  const count = await callsUnderWay(stack.carrierUrl);
  console.log(
    count === 0
      ? "\nno call is under way; stopping"
      : `\n${count} ${count === 1 ? "call is" : "calls are"} under way; waiting up to ${graceSeconds} s; press Ctrl-C again to end at once`,
  );
  await stack.stop((graceSeconds + LAST_SECONDS) * 1000);
}

async function run({ values: { fresh, split, engine } }: Asked<typeof START>): Promise<void> {
  const env = passedVariables(process.env);
  const folder = openData(fresh);
  const stopped = new AbortController();
  const graceSeconds = setting("SHUTDOWN_GRACE_SECONDS", DEFAULT_GRACE_SECONDS);
  const starting = startStack({
    folder,
    split,
    engine,
    ...(await wantedPorts()),
    timeScale: setting("SIM_TIME_SCALE", DEFAULT_TIME_SCALE),
    seed: process.env["SIM_SEED"] ?? "callagent",
    env: { ...env, SHUTDOWN_GRACE_SECONDS: String(graceSeconds) },
    onLog: (line) => print(fromLog(line, new Date())),
    onDeath: (reason) => {
      if (!stopped.signal.aborted) console.error(`! ${reason}; it is started again`);
    },
  });
  let running: Stack | null = null;
  const stop = (): void => {
    stopped.abort();
    void starting
      .then(
        (stack) => stopPolitely(stack, graceSeconds),
        () => undefined,
      )
      .then(() => process.exit(0));
  };
  const end = async (): Promise<void> => {
    await running?.kill();
    process.exit(ENDED_AT_ONCE);
  };
  onSignals(stop, () => void end());
  const stack = await starting;
  running = stack;
  const { sample } = await seed(stack, folder, { initial_offset: 0, retry_offset: RETRY_OFFSET_SECONDS });
  folder.writeText("sample.env", shellVariables(stack, sample));
  if (stopped.signal.aborted) return;
  const { admin_email, admin_password } = stack.secrets;
  const asAdmin = async () => apiClient(stack.baseUrl, await login(stack.baseUrl, admin_email, admin_password));
  const door = await openTalkDoor(asAdmin, sample, await freePort());
  console.log(banner(stack, sample, door.url));
  const ledger = followLedger(stack.carrierUrl, (entry) => print(fromLedger(entry)));
  stopped.signal.addEventListener("abort", () => {
    ledger.stop();
    door.close();
  });
}

await runCommand(START, run);
