import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../deploy/local/ports.ts";
import { ROOT } from "../../deploy/local/stack.ts";
import { until } from "./stage.ts";

/** A program of the project, run as npm's scripts run it. */
export interface Running {
  child: ChildProcess;
  output(): string;
  ended: Promise<number | null>;
}

/** Runs a script of deploy/local through the launcher. `preload` is required before it. */
export function runScript(script: string, args: string[], env: Record<string, string>, preload?: string): Running {
  const child = spawn(
    process.execPath,
    [...(preload ? ["--require", preload] : []), join(ROOT, "deploy", "local", "launch.cjs"), script, ...args],
    {
      cwd: ROOT,
      env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let text = "";
  child.stdout.on("data", (d: Buffer) => {
    text += d.toString();
  });
  child.stderr.on("data", (d: Buffer) => {
    text += d.toString();
  });
  return { child, output: () => text, ended: new Promise((resolve) => child.on("exit", (code) => resolve(code))) };
}

const BANNER_MS = 40_000;

/** A folder and ports of its own for `npm start`. */
export async function newcomerEnv(): Promise<Record<string, string>> {
  return {
    CALLAGENT_DATA: mkdtempSync(join(tmpdir(), "callagent-start-")),
    HTTP_PORT: String(await freePort()),
    MEDIA_PORT: String(await freePort()),
    CARRIER_PORT: String(await freePort()),
    SIM_TIME_SCALE: "20",
  };
}

/** Runs `npm start` and waits for what it prints when all is up. */
export async function startAsNewcomer(env: Record<string, string>, args: string[] = []): Promise<Running> {
  const running = runScript("deploy/local/start.ts", args, env);
  let code: number | null | undefined;
  running.child.once("exit", (c) => {
    code = c;
  });
  await until(
    "callagent to run",
    () => {
      if (code !== undefined) throw new Error(`npm start ended with ${code}: ${running.output()}`);
      return running.output().includes("carrier's ledger") || undefined;
    },
    BANNER_MS,
  );
  return running;
}
