import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { delimiter, join } from "node:path";
import { ROOT } from "../tools/stack/project-root.ts";

const SECOND_MS = 1000;
/** Servers and Go stand here, which is not on everybody's PATH. */
const PROGRAM_FOLDERS = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/local/go/bin"];

const path = [join(ROOT, "node_modules", ".bin"), process.env["PATH"] ?? "", ...PROGRAM_FOLDERS].join(delimiter);

/** Our environment with the project's own programs on the PATH; what installs asks nothing. */
export const PROGRAM_ENV: NodeJS.ProcessEnv = { ...process.env, PATH: path, DEBIAN_FRONTEND: "noninteractive" };

/** True where a program can be run by its name. */
export const hasProgram = (name: string): boolean =>
  path.split(delimiter).some((folder) => folder !== "" && existsSync(join(folder, name)));

/** How a program is run. */
export interface ProgramOptions {
  /** It is stopped when it runs for longer. */
  limitMs: number;
  /** Absent: the project's root. */
  cwd?: string;
  /** Absent: PROGRAM_ENV. */
  env?: NodeJS.ProcessEnv;
  /** File that its output is appended to; absent: it writes to our own streams. */
  log?: string;
}

/** Runs a program; its exit status, 1 when it could not be started or was ended. SIGTERM and SIGINT that come meanwhile reach it too. */
export async function runProgram(command: string, args: readonly string[], o: ProgramOptions): Promise<number> {
  const log = o.log === undefined ? null : openSync(o.log, "a");
  try {
    return await new Promise((resolve) => {
      const child = spawn(command, args, {
        cwd: o.cwd ?? ROOT,
        stdio: log === null ? "inherit" : ["ignore", log, log],
        env: o.env ?? PROGRAM_ENV,
      });
      const late = setTimeout(() => {
        console.error(`${command} did not end within ${o.limitMs / SECOND_MS} s and is stopped.`);
        child.kill("SIGTERM");
      }, o.limitMs);
      const pass = (signal: NodeJS.Signals): void => {
        child.kill(signal);
      };
      process.on("SIGTERM", pass).on("SIGINT", pass);
      const end = (status: number): void => {
        clearTimeout(late);
        process.off("SIGTERM", pass).off("SIGINT", pass);
        resolve(status);
      };
      child.once("error", (error) => {
        console.error(`${command} could not be started: ${error.message}`);
        end(1);
      });
      child.once("exit", (code) => end(code ?? 1));
    });
  } finally {
    if (log !== null) closeSync(log);
  }
}
