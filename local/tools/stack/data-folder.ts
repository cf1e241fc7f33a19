import { accessSync, constants, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { UserError } from "../../../shared/process/command-line.ts";

/** A stack that cannot start, for a reason that a person can mend. */
export class StartError extends UserError {}

/** The data folder of a laptop installation. */
export interface Folder {
  path: string;
  /** Path of something inside. */
  at(name: string): string;
  /** null: it is not there. StartError where it is torn. */
  readJson<T>(name: string): T | null;
  /** Written whole or not at all, readable by the owner only. */
  writeJson(name: string, value: unknown): void;
  /** The same for plain text. */
  writeText(name: string, text: string): void;
  remove(name: string): void;
}

const OWNER_ONLY = 0o600;
const OWNER_FOLDER = 0o700;

/** All that an installation leaves in its folder, but for the file that says that it runs, and its log. */
const CONTENTS = [
  "store",
  "recordings",
  "bus",
  "secrets.json",
  "sample.json",
  "sample.env",
  "ledger.ndjson",
  "carrier.json",
];

/** One folder after the other: mkdir's own recursion never ends below /proc (Node 24). */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, { mode: OWNER_FOLDER });
}

/** Opens (and makes) the folder; `fresh` empties it first. StartError when it can't be written. */
export function openFolder(path: string, fresh: boolean): Folder {
  try {
    if (fresh) for (const name of CONTENTS) rmSync(join(path, name), { recursive: true, force: true });
    makeFolder(resolve(path));
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new StartError(
      `The data folder ${path} can't be written (${error instanceof Error && "code" in error ? String(error.code) : "unknown reason"}): make it writable, or name another with CALLAGENT_DATA.`,
      { cause: error },
    );
  }
  const at = (name: string): string => join(path, name);
  const writeText = (name: string, text: string): void => {
    writeFileSync(at(`${name}.new`), text, { mode: OWNER_ONLY });
    renameSync(at(`${name}.new`), at(name));
  };
  return {
    path,
    at,
    readJson: <T>(name: string) => {
      if (!existsSync(at(name))) return null;
      try {
        return JSON.parse(readFileSync(at(name), "utf8")) as T;
      } catch (error) {
        throw new StartError(`${at(name)} is no valid JSON: delete it, or start with empty data by --fresh.`, {
          cause: error,
        });
      }
    },
    writeJson: (name, value) => writeText(name, `${JSON.stringify(value, null, 2)}\n`),
    writeText,
    remove: (name) => rmSync(at(name), { force: true }),
  };
}

/** Who uses the folder. `began`: when that process began, by the system; absent where the system does not tell. */
interface RunFile {
  pid: number;
  began?: string;
}

/** Fields of /proc/<pid>/stat behind the name, which may hold anything; the 20th of them is the time of its start. */
const START_FIELD = 19;

/** When a process began, as ticks since the system did; null: there is none. Undefined: the system does not tell. */
export function beganAt(pid: number): string | null | undefined {
  if (!existsSync("/proc/self/stat")) return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[START_FIELD] ?? null;
  } catch {
    return null;
  }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** Whether the process that wrote the file still runs: a process id is given to another program after a restart of the machine, or after some time. */
function isRunning({ pid, began }: RunFile): boolean {
  const now = beganAt(pid);
  if (now === null || !isAlive(pid)) return false;
  return now === undefined || began === undefined || now === began;
}

/** What a stack writes about itself into its folder: who it is. */
export function ownRun(): RunFile {
  const began = beganAt(process.pid);
  return { pid: process.pid, ...(typeof began === "string" ? { began } : {}) };
}

/** Who says that it uses the folder; null: nobody, or a file that was torn by the end of whoever wrote it. */
function runningIn(folder: Folder): RunFile | null {
  try {
    return folder.readJson<RunFile>("run.json");
  } catch {
    return null;
  }
}

/** Makes sure that one stack at a time uses the folder. */
export function lockFolder(folder: Folder): void {
  const other = runningIn(folder);
  if (other && other.pid !== process.pid && isRunning(other)) {
    throw new StartError(
      `Another callagent (process ${other.pid}) is using ${folder.path}: stop it, or name another folder with CALLAGENT_DATA.`,
    );
  }
  folder.writeJson("run.json", ownRun());
}
