import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { PROGRAM_ENV } from "../../harness/program.ts";
import { goInstall, program, tailOf } from "../machine.ts";
import { isAlive, readPid } from "../cache-folder.ts";
import { PartError, type Part, type Running } from "../part.ts";

/** The newest that `go install` builds when this was written: later ones carry replace directives. */
const LIVEKIT_VERSION = "v1.13.5";
const MODULE = `github.com/livekit/livekit-server/cmd/server@${LIVEKIT_VERSION}`;
const BUILD_MS = 900_000;
const START_MS = 15_000;
/** It drains after SIGTERM and may stay for minutes: it is killed after so long. */
const END_MS = 2000;
const POLL_MS = 100;

/** Where the server listens: signalling, TCP and UDP of media behind it. */
const PORT = 17_880;
/** Its key, for this machine alone. */
const KEY = "callagent";
const SECRET = "a-key-of-the-test-server-on-this-machine";
/** The variable that names the folder of the server that runs, for programs that end and start it. */
export const LIVEKIT_FOLDER_VARIABLE = "CALLAGENT_REAL_LIVEKIT";

const binary = (folder: string): string => join(folder, "bin", "server");
const pidFile = (folder: string): string => join(folder, "livekit.pid");
const logFile = (folder: string): string => join(folder, "logs", "livekit.log");

const CONFIG = `port: ${PORT}
bind_addresses: ["127.0.0.1"]
rtc:
  tcp_port: ${PORT + 1}
  udp_port: ${PORT + 2}
  use_external_ip: false
  node_ip: 127.0.0.1
  enable_loopback_candidate: true
  interfaces: {includes: [lo]}
  ips: {includes: [127.0.0.1/32]}
room: {auto_create: false}
keys: {${KEY}: ${SECRET}}
logging: {level: info, json: true}
`;

const build = (folder: string): Promise<void> =>
  goInstall(folder, MODULE, `livekit-server ${LIVEKIT_VERSION}`, BUILD_MS);

const listens = (): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(PORT, "127.0.0.1");
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });

/** Starts the server whose folder this is; throws PartError where it does not come up. */
export async function startLivekit(folder: string): Promise<ChildProcess> {
  const config = join(folder, "livekit.yaml");
  writeFileSync(config, CONFIG);
  mkdirSync(join(folder, "logs"), { recursive: true });
  const out = openSync(logFile(folder), "a");
  const child = spawn(binary(folder), ["--config", config], { stdio: ["ignore", out, out], env: PROGRAM_ENV });
  child.unref();
  writeFileSync(pidFile(folder), String(child.pid));
  for (let waited = 0; waited < START_MS; waited += POLL_MS) {
    if (await listens()) return child;
    await wait(POLL_MS);
  }
  throw new PartError(`livekit-server did not start. The end of ${logFile(folder)}:\n${tailOf(logFile(folder))}`);
}

/** The process id of the server that runs in this folder; null: none does. */
export function livekitPid(folder: string): number | null {
  const pid = readPid(pidFile(folder));
  return pid !== null && isAlive(pid) ? pid : null;
}

/** Ends the server of a folder, one of an earlier run too. */
async function stopLivekit(folder: string): Promise<void> {
  const pid = livekitPid(folder);
  rmSync(pidFile(folder), { force: true });
  if (pid === null) return;
  process.kill(pid, "SIGTERM");
  for (let waited = 0; waited < END_MS && isAlive(pid); waited += POLL_MS) await wait(POLL_MS);
  if (isAlive(pid)) process.kill(pid, "SIGKILL");
}

async function start(folder: string): Promise<Running> {
  await stopLivekit(folder);
  rmSync(logFile(folder), { force: true });
  await startLivekit(folder);
  const [, version = LIVEKIT_VERSION] = /"version": ?"([\d.]+)"/.exec(readFileSync(logFile(folder), "utf8")) ?? [];
  return {
    env: {
      LIVEKIT_URL: `ws://127.0.0.1:${PORT}`,
      LIVEKIT_API_KEY: KEY,
      LIVEKIT_API_SECRET: SECRET,
      [LIVEKIT_FOLDER_VARIABLE]: folder,
    },
    versions: `livekit-server ${version}, on 127.0.0.1:${PORT}, room.auto_create false`,
    stop: () => stopLivekit(folder),
  };
}

/** The real room server, on loopback. */
export const livekit: Part = {
  name: "livekit",
  about: `livekit-server ${LIVEKIT_VERSION}, and sessions in its rooms`,
  cost: "75 MB and 2 to 4 minutes, from the Go module proxy",
  needs: [program("go", "https://go.dev/dl")],
  isInstalled: (folder) => existsSync(binary(folder)),
  install: build,
  start,
};
