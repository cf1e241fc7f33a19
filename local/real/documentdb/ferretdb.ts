import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { isAlive, readPid } from "../cache-folder.ts";
import { PROGRAM_ENV } from "../../harness/program.ts";
import { goInstall, tailOf } from "../machine.ts";
import { PartError } from "../part.ts";

/** FerretDB speaks MongoDB's wire protocol in front of PostgreSQL with documentdb. */
export const FERRETDB_VERSION = "v2.7.0";
const MODULE = `github.com/FerretDB/FerretDB/v2/cmd/ferretdb@${FERRETDB_VERSION}`;
const BUILD_MS = 900_000;
const ANSWER_MS = 30_000;

const binary = (folder: string): string => join(folder, "bin", "ferretdb");
const pidFile = (folder: string): string => join(folder, "ferretdb.pid");

/** True once it is built. */
export const isBuilt = (folder: string): boolean => existsSync(binary(folder));

/** Builds it from the Go module proxy. Throws PartError. */
export const buildFerretdb = (folder: string): Promise<void> =>
  goInstall(folder, MODULE, `FerretDB ${FERRETDB_VERSION}`, BUILD_MS);

/** Ends what an earlier run left; another program that has got its process id meanwhile is left alone. */
export function killLeftFerretdb(folder: string): void {
  const pid = readPid(pidFile(folder));
  rmSync(pidFile(folder), { force: true });
  if (pid !== null && isAlive(pid) && readlinkSync(`/proc/${pid}/exe`) === binary(folder)) process.kill(pid, "SIGKILL");
}

/** Waits until it answers as MongoDB would; the version that it claims. */
async function versionAt(uri: string): Promise<string> {
  const client = await MongoClient.connect(uri, { serverSelectionTimeoutMS: ANSWER_MS });
  try {
    return String((await client.db("admin").command({ buildInfo: 1 }))["version"]);
  } finally {
    await client.close();
  }
}

/** Starts it on a port of 127.0.0.1 in front of the PostgreSQL of the other port. Throws PartError when it does not answer. */
export async function startFerretdb(
  folder: string,
  port: number,
  postgresPort: number,
): Promise<{ uri: string; version: string; stop(): Promise<void> }> {
  const log = join(folder, "logs", "ferretdb.log");
  mkdirSync(join(folder, "logs"), { recursive: true });
  const output = openSync(log, "a");
  const quiet = ["--no-auth", "--telemetry=disable", "--debug-addr=-", `--state-dir=${folder}`, "--log-level=error"];
  const where = [`--listen-addr=127.0.0.1:${port}`];
  const behind = [`--postgresql-url=postgres://postgres@127.0.0.1:${postgresPort}/postgres`];
  // a group of its own: Ctrl-C reaches us first, and we stop it when its users have ended
  const child = spawn(binary(folder), [...quiet, ...where, ...behind], {
    stdio: ["ignore", output, output],
    detached: true,
    env: PROGRAM_ENV,
  });
  closeSync(output);
  const ended = once(child, "exit");
  writeFileSync(pidFile(folder), String(child.pid));
  const uri = `mongodb://127.0.0.1:${port}/`;
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
    rmSync(pidFile(folder), { force: true });
  };
  try {
    return { uri, version: await versionAt(uri), stop };
  } catch (error) {
    await stop();
    throw new PartError(`FerretDB does not answer at ${uri}: ${String(error)}. The end of ${log}:\n${tailOf(log)}`);
  }
}
