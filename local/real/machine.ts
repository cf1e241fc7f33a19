import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasProgram, PROGRAM_ENV, runProgram } from "../harness/program.ts";
import { PartError, type Need } from "./part.ts";

const LOG_LINES = 5;
/** Times a download is tried: a registry that answers too slowly, or not at all, does so for a moment. */
const DOWNLOAD_TRIES = 3;

/** A program that must be on the PATH. */
export const program = (name: string, remedy: string): Need => ({
  missing: `${name} (${remedy})`,
  isThere: () => hasProgram(name),
});

/** The rights of root. */
export const ROOT_RIGHTS: Need = {
  missing: "root (it changes its root folder to the one it installs into; run it as root or in a container)",
  isThere: () => process.getuid?.() === 0,
};

/** The last lines of a log. */
export const tailOf = (log: string): string =>
  (existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n") : []).slice(-LOG_LINES).join("\n");

/** One step of an installation or a start: what it is for, its log, its time limit. */
export interface Work {
  purpose: string;
  log: string;
  limitMs: number;
  env?: NodeJS.ProcessEnv;
}

/** Runs a program with its output in a log; throws PartError with the purpose and the log's end when it fails. */
export async function mustRun(command: string, args: readonly string[], work: Work): Promise<void> {
  const { purpose, log, limitMs, env } = work;
  mkdirSync(dirname(log), { recursive: true });
  const status = await runProgram(command, args, {
    limitMs,
    log,
    cwd: dirname(log),
    ...(env === undefined ? {} : { env }),
  });
  if (status !== 0)
    throw new PartError(`${purpose}: ${command} ended with status ${status}. The end of ${log}:\n${tailOf(log)}`);
}

/** The same for what downloads something, which is tried again: what came in the meantime is not fetched twice. Throws PartError after the last try. */
export async function mustDownload(command: string, args: readonly string[], work: Work): Promise<void> {
  for (let tries = 1; tries < DOWNLOAD_TRIES; tries += 1)
    try {
      await mustRun(command, args, work);
      return;
    } catch (error) {
      if (!(error instanceof PartError)) throw error;
    }
  await mustRun(command, args, work);
}

/** Builds a program from the Go module proxy into `bin` of a part's folder; modules and objects go again when it is built. `what`: the program and its version. Throws PartError. */
export async function goInstall(folder: string, module: string, what: string, limitMs: number): Promise<void> {
  const go = join(folder, "go");
  const own = { GOPATH: go, GOMODCACHE: join(go, "mod"), GOCACHE: join(go, "build"), GOBIN: join(folder, "bin") };
  await mustDownload("go", ["install", module], {
    purpose: `${what} could not be built (is the Go module proxy within reach?)`,
    log: join(folder, "logs", "go.log"),
    limitMs,
    env: { ...PROGRAM_ENV, ...own, GOFLAGS: "-modcacherw" },
  });
  rmSync(go, { recursive: true, force: true });
}
