import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { PartError } from "./part.ts";

/** Names another folder. */
export const FOLDER_VARIABLE = "CALLAGENT_REAL_DIR";
const LOCK = "run.pid";

/** Where real servers are installed: the folder given, else that of CALLAGENT_REAL_DIR, else one in the user's cache. */
export function cacheFolder(given: string | undefined, env: NodeJS.ProcessEnv): string {
  const cache = env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return resolve(given || env[FOLDER_VARIABLE] || join(cache, "callagent-real"));
}

/** True while a process with this id runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The process id that a file holds; null: no file, or no number in it. */
export function readPid(file: string): number | null {
  const pid = existsSync(file) ? Number.parseInt(readFileSync(file, "utf8"), 10) : Number.NaN;
  return Number.isNaN(pid) ? null : pid;
}

/** Takes the folder for this process; the function given back releases it. Throws PartError while another process has it. */
export function lockFolder(folder: string): () => void {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, LOCK);
  const owner = readPid(file);
  if (owner !== null && owner !== process.pid && isAlive(owner))
    throw new PartError(
      `Process ${owner} uses the real servers in ${folder}: wait for its end, or name another folder with --dir.`,
    );
  writeFileSync(file, String(process.pid));
  return () => rmSync(file, { force: true });
}
