import { join } from "node:path";
import { styleText } from "node:util";
import { runCommand, UsageError, type Asked } from "../../shared/process/command-line.ts";
import { START } from "./commands.ts";
import { lockFolder, openFolder, type Folder } from "./stack/data-folder.ts";
import { callsUnderWay, followLedger } from "./console/ledger-stream.ts";
import { banner } from "./console/banner.ts";
import { consoleLines } from "./console/console-lines.ts";
import { passedVariables } from "./stack/own-variables.ts";
import { freePort, wantedPort } from "./stack/ports.ts";
import { modelsInUse, realModels } from "./stack/model-choice.ts";
import { openTalkDoor, talkAddress } from "./talk/talk-door.ts";
import { apiClient, login } from "./api-client.ts";
import { seed, shellVariables } from "./sample/seed.ts";
import { startStack, type Stack, type StackOptions } from "./stack/stack.ts";
import { ROOT } from "./stack/project-root.ts";

const DEFAULT_PORTS = { HTTP_PORT: 3000, MEDIA_PORT: 3001, CARRIER_PORT: 3010 };
const LAST_PORT = 65_535;
const CARRIERS_SAID = "simulated Twilio, Plivo and Telnyx: no real phone rings";
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

const setting = (name: string, fallback: number, most = Infinity): number => {
  const value = Number(process.env[name] ?? fallback);
  if (!(value >= 0 && value <= most))
    throw new UsageError(
      `${name} must be a number${most === Infinity ? "" : ` from 0 to ${most}`}, not "${process.env[name]}".`,
    );
  return value;
};

function openData(fresh: boolean): Folder {
  const folder = openFolder(process.env["CALLAGENT_DATA"] ?? join(ROOT, ".callagent"), false);
  lockFolder(folder);
  if (fresh) openFolder(folder.path, true);
  return folder;
}

/** Port 0: a free one. */
async function wantedPorts(): Promise<Pick<StackOptions, "httpPort" | "mediaPort" | "carrierPort">> {
  const port = async (name: keyof typeof DEFAULT_PORTS, purpose: string): Promise<number> =>
    wantedPort(setting(name, DEFAULT_PORTS[name], LAST_PORT), name, purpose);
  const ports = {
    httpPort: await port("HTTP_PORT", "the API"),
    mediaPort: await port("MEDIA_PORT", "calls' WebSockets"),
    carrierPort: await port("CARRIER_PORT", "the simulated carrier"),
  };
  if (new Set(Object.values(ports)).size < 3)
    throw new UsageError("HTTP_PORT, MEDIA_PORT and CARRIER_PORT must be three different ports.");
  return ports;
}

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

/** Starts the stack as it was asked for, with what its banner says of it. */
async function begin(
  { split, engine, real }: Asked<typeof START>["values"],
  folder: Folder,
  graceSeconds: number,
  observer: Pick<StackOptions, "onLog" | "onDeath">,
) {
  const { passed, unused } = passedVariables(process.env, real);
  const models = real ? realModels(process.env) : {};
  const talkPort = await freePort();
  const starting = startStack({
    folder,
    split,
    engine,
    realModels: models,
    ...(await wantedPorts()),
    timeScale: setting("SIM_TIME_SCALE", DEFAULT_TIME_SCALE),
    seed: process.env["SIM_SEED"] ?? "callagent",
    env: { ...passed, SHUTDOWN_GRACE_SECONDS: String(graceSeconds), TALK_PAGE_URL: talkAddress(talkPort) },
    ...observer,
  });
  return { starting, talkPort, facts: { engine, unused, carriers: CARRIERS_SAID, models: modelsInUse(models) } };
}

async function run({ values }: Asked<typeof START>): Promise<void> {
  const folder = openData(values.fresh);
  const stopped = new AbortController();
  const graceSeconds = setting("SHUTDOWN_GRACE_SECONDS", DEFAULT_GRACE_SECONDS);
  const lines = consoleLines({ zone: "local", paint: (format, text) => styleText(format, text) });
  const { starting, talkPort, facts } = await begin(values, folder, graceSeconds, {
    onLog: (line) => print(lines.fromLog(line, new Date())),
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
  const door = await openTalkDoor(asAdmin, sample, talkPort);
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  console.log(banner({ ...facts, stack, sample, talk: door.url, logFile: folder.at("callagent.log"), zone }));
  const ledger = followLedger(stack.carrierUrl, (entry) => print(lines.fromLedger(entry)));
  stopped.signal.addEventListener("abort", () => {
    ledger.stop();
    door.close();
  });
}

await runCommand(START, run);
