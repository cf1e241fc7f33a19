import { join } from "node:path";
import { styleText } from "node:util";
import { runCommand, UsageError, type Asked } from "../../shared/process/command-line.ts";
import { START } from "./commands.ts";
import { lockFolder, openFolder, StartError, type Folder } from "./stack/data-folder.ts";
import { callsUnderWay, followLedger } from "./console/ledger-stream.ts";
import { banner, type Facts } from "./console/banner.ts";
import { consoleLines, type ConsoleLines, type Paint } from "./console/console-lines.ts";
import { LOG_FILE } from "./stack/child-group.ts";
import { passedVariables } from "./stack/own-variables.ts";
import { SERVICES } from "./stack/service-processes.ts";
import { freePort, wantedPort } from "./stack/ports.ts";
import { modelsInUse, realModels } from "./stack/model-choice.ts";
import { addressFaults } from "./real-carrier/public-address.ts";
import { realTwilio } from "./real-carrier/real-twilio.ts";
import { openTalkDoor, talkAddress } from "./talk/talk-door.ts";
import { apiClient, login } from "./api-client.ts";
import { seed, shellVariables } from "./sample/seed.ts";
import { startStack, type Stack, type StackOptions } from "./stack/stack.ts";
import { ROOT } from "./stack/project-root.ts";

const DEFAULT_PORTS = { HTTP_PORT: 3000, MEDIA_PORT: 3001, CARRIER_PORT: 3010 };
const LAST_PORT = 65_535;
const SIMULATED_SAID = "simulated Twilio, Plivo and Telnyx: no real phone rings";
/** Of a real carrier: leads that wait for simulated phones are in another one. */
const REAL_DATABASE = "callagent_twilio";
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

type Wanted = Asked<typeof START>["values"];
/** What `npm start` tells by, once the stack runs. `caller`: the number that a real carrier calls from. */
interface World {
  facts: Pick<Facts, "engine" | "unused" | "carriers" | "models" | "isReal">;
  lines: ConsoleLines;
  stopped: AbortSignal;
  talkPort: number;
  caller: string | null;
}

const setting = (name: string, fallback: number, most = Infinity): number => {
  const value = Number(process.env[name] ?? fallback);
  if (!(value >= 0 && value <= most))
    throw new UsageError(
      `${name} must be a number${most === Infinity ? "" : ` from 0 to ${most}`}, not "${process.env[name]}".`,
    );
  return value;
};

/** The folder of this carrier: leads that wait for simulated phones must never ring real ones. */
function openData({ fresh, restored, carrier }: Wanted): Folder {
  if (fresh && restored)
    throw new UsageError("--fresh starts with empty data, --restored with data of before: give one.");
  const usual = join(ROOT, carrier === "simulated" ? ".callagent" : `.callagent-${carrier}`);
  const folder = openFolder(process.env["CALLAGENT_DATA"] ?? usual, false);
  lockFolder(folder);
  if (fresh) openFolder(folder.path, true);
  const known = folder.readJson<{ carrier: string }>("carrier.json")?.carrier;
  const before = known ?? (folder.readJson("secrets.json") === null ? carrier : "simulated");
  if (before !== carrier)
    throw new StartError(
      `${folder.path} holds leads for the carrier ${before}: name another folder with CALLAGENT_DATA, or start with empty data by --fresh.`,
    );
  folder.writeJson("carrier.json", { carrier });
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

/** The health port, or the first of a split stack's, where one is asked for. */
function metricsPort(split: boolean): Pick<StackOptions, "metricsPort"> {
  if ((process.env["METRICS_PORT"] ?? "") === "") return {};
  return { metricsPort: setting("METRICS_PORT", 0, LAST_PORT - (split ? SERVICES.length - 1 : 0)) };
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
async function stopPolitely(stack: Stack, graceSeconds: number, isReal: boolean): Promise<void> {
  const count = await callsUnderWay(stack.carrierUrl);
  const wait = `for up to ${graceSeconds} s; press Ctrl-C again to end at once`;
  if (isReal) console.log(`\ncalls that are under way may go on ${wait}`);
  else if (count === 0) console.log("\nno call is under way; stopping");
  else
    console.log(`\n${count} ${count === 1 ? "call is" : "calls are"} under way; waiting ${wait.slice("for ".length)}`);
  await stack.stop((graceSeconds + LAST_SECONDS) * 1000);
}

/** The stack that was asked for, with what its banner says of it, and what it is given beside the folder. */
async function chosen(values: Wanted) {
  const { engine, real, carrier, from, to } = values;
  if (carrier === "simulated" && (from ?? to) !== undefined)
    throw new UsageError("--from and --to go with --carrier twilio.");
  const { passed, unused } = passedVariables(process.env, { real, carrier: carrier !== "simulated" });
  const models = real ? realModels(process.env) : {};
  const twilio = carrier === "simulated" ? null : await realTwilio(process.env, { engine, real, from, to });
  const carriers = twilio === null ? SIMULATED_SAID : `Twilio (${twilio.account.type} account), calls from ${twilio.account.from}: real phones ring and cost money; PROVIDER_TWO and PROVIDER_THREE are simulated`; // prettier-ignore
  return {
    twilio,
    passed,
    facts: { engine, unused, carriers, models: modelsInUse(models), isReal: twilio !== null },
    // data of its own in a given MONGODB_URI too
    options: { realModels: models, ...(twilio === null ? {} : { twilio: twilio.variables, database: REAL_DATABASE }) },
  };
}

/** A carrier must reach this machine; what does not lead here ends the start. */
async function checkAddresses(
  { httpUrl, mediaUrl }: Stack,
  variables: Readonly<Record<string, string>>,
): Promise<void> {
  const { PUBLIC_HTTP_URL: publicHttp = "", PUBLIC_WS_URL: publicWs = "" } = variables;
  const faults = await addressFaults({ publicHttp, http: httpUrl, publicWs, ws: mediaUrl });
  if (faults.length > 0) throw new StartError([...faults, "See docs/first-real-call.md."].join("\n"));
}

/** Makes the sample tenant, opens the page to talk on, and tells what happens until `stopped`. */
async function attend(stack: Stack, folder: Folder, world: World): Promise<void> {
  const { facts, lines, stopped, talkPort, caller } = world;
  const times = { initial_offset: 0, retry_offset: RETRY_OFFSET_SECONDS };
  const { sample } = await seed(stack, folder, times, ["PROVIDER_ONE"], caller);
  folder.writeText("sample.env", shellVariables(stack, sample));
  if (stopped.aborted) return;
  const { admin_email, admin_password } = stack.secrets;
  const asAdmin = async () => apiClient(stack.baseUrl, await login(stack.baseUrl, admin_email, admin_password));
  const door = await openTalkDoor(asAdmin, sample, { port: talkPort, home: `${stack.httpUrl}/` });
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  console.log(banner({ ...facts, stack, sample, talk: door.url, logFile: folder.at(LOG_FILE), zone }));
  const ledger = followLedger(stack.carrierUrl, (entry) => print(lines.fromLedger(entry)));
  stopped.addEventListener("abort", () => {
    ledger.stop();
    door.close();
  });
}

async function run({ values }: Asked<typeof START>): Promise<void> {
  const { twilio, passed, facts, options } = await chosen(values);
  const folder = openData(values);
  const stopped = new AbortController();
  const graceSeconds = setting("SHUTDOWN_GRACE_SECONDS", DEFAULT_GRACE_SECONDS);
  const paint: Paint = (format, text) => styleText(format, text);
  const lines = consoleLines({ zone: "local", paint, callsAreLogged: facts.isReal });
  const talkPort = await freePort();
  const starting = startStack({
    folder,
    split: values.split,
    engine: values.engine,
    ...(values.restored ? { onParked: print } : {}),
    ...options,
    ...(await wantedPorts()),
    ...metricsPort(values.split),
    timeScale: setting("SIM_TIME_SCALE", DEFAULT_TIME_SCALE),
    seed: process.env["SIM_SEED"] ?? "callagent",
    env: {
      ...passed,
      SHUTDOWN_GRACE_SECONDS: String(graceSeconds),
      TALK_PAGE_URL: talkAddress(talkPort),
    },
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
        (stack) => stopPolitely(stack, graceSeconds, facts.isReal),
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
  try {
    if (twilio !== null) await checkAddresses(stack, twilio.variables);
    const caller = twilio === null ? null : twilio.account.from;
    await attend(stack, folder, { facts, lines, stopped: stopped.signal, talkPort, caller });
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

await runCommand(START, run);
