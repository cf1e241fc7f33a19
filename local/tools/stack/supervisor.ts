import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { StartError } from "./data-folder.ts";

/** A child program of the stack. */
export interface Child {
  name: string;
  pid(): number | undefined;
  /** What its ready line said. */
  url: string;
  /** Asks it to end, then insists after the grace. */
  stop(graceMs: number): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** Ends it with this signal and keeps it down; resolves when it is gone. */
  down(signal: NodeJS.Signals): Promise<void>;
  /** Starts it after `down`; `once` is added to its environment for this one start, a restart after a death comes without it. */
  up(once?: Record<string, string>): Promise<void>;
}

/** How a child is run. `restart`: it comes back when it dies by itself. */
export interface ChildOptions {
  name: string;
  args: string[];
  command?: string;
  env: Record<string, string>;
  ready: "line" | "none";
  restart: boolean;
  onLine(line: string): void;
  onDeath(said: string): void;
}

/** Where Node keeps what it compiled, so that a process of many starts in half the time; launch.cjs names the same folder. */
const COMPILED = join(import.meta.dirname, "..", "..", "..", "node_modules", ".cache", "node");
const READY_MS = 20_000;
const RESTART_PAUSE_MS = 300;
/** A child that dies this often in a row is left dead; one that lived for a while begins anew. */
const MAX_RESTARTS = 20;
const STEADY_MS = 30_000;
const KEPT_STDERR = 2000;

const readyUrl = (line: string): string | null => {
  if (!line.startsWith("{")) return null;
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === "object" &&
      parsed !== null &&
      "event" in parsed &&
      parsed.event === "ready" &&
      "url" in parsed
      ? String(parsed.url)
      : null;
  } catch {
    return null;
  }
};

/** Starts a child in a process group of its own, so that Ctrl-C reaches the starter alone and it can stop everything in order. */
export async function startChild(options: ChildOptions): Promise<Child> {
  let current: ChildProcess | null = null;
  /** Set while it is not to come back: for good, or until `up`. */
  let held = false;
  let restarts = 0;
  let stderr = "";
  const child: Child = {
    name: options.name,
    url: "",
    pid: () => current?.pid,
    kill: (signal) => {
      current?.kill(signal);
    },
    stop: (graceMs) =>
      stopProcess(
        () => current,
        graceMs,
        () => {
          held = true;
        },
      ),
    async down(signal) {
      held = true;
      const p = current;
      if (!p) return;
      const gone = new Promise<void>((resolve) => p.once("exit", () => resolve()));
      p.kill(signal);
      await gone;
    },
    up(once) {
      held = false;
      return launch(once);
    },
  };

  const launch = (once: Record<string, string> = {}): Promise<void> =>
    new Promise((resolve, reject) => {
      const p = spawn(options.command ?? process.execPath, options.args, {
        env: {
          PATH: process.env["PATH"],
          HOME: process.env["HOME"],
          NODE_COMPILE_CACHE: COMPILED,
          ...options.env,
          ...once,
        },
        stdio: ["ignore", "pipe", "pipe", "ipc"],
        detached: true,
      });
      current = p;
      const startedAt = performance.now();
      const late =
        options.ready === "line"
          ? setTimeout(
              () => reject(new StartError(`${options.name} did not become ready within ${READY_MS / 1000} s.`)),
              READY_MS,
            )
          : null;
      const ready = (): void => {
        if (late) clearTimeout(late);
        resolve();
      };
      if (options.ready === "none") p.once("spawn", ready);
      if (p.stdout)
        createInterface({ input: p.stdout }).on("line", (line) => {
          const url = readyUrl(line);
          if (url) {
            child.url = url;
            ready();
          } else options.onLine(line);
        });
      p.stderr?.on("data", (data: Buffer) => {
        stderr = (stderr + data.toString()).slice(-KEPT_STDERR);
      });
      p.once("error", (error) => {
        if (late) clearTimeout(late);
        reject(new StartError(`${options.name} could not be started: ${error.message}`));
      });
      p.once("exit", (code, signal) => {
        if (late) clearTimeout(late);
        current = null;
        const said = `${options.name} ended (${signal ?? `exit ${code ?? "?"}`})${stderr.trim() ? `: ${stderr.trim()}` : ""}`;
        reject(new StartError(said));
        stderr = "";
        if (held) return;
        options.onDeath(said);
        if (performance.now() - startedAt > STEADY_MS) restarts = 0;
        if (options.restart && restarts++ < MAX_RESTARTS)
          setTimeout(() => {
            if (!held && !current) launch().catch(() => undefined);
          }, RESTART_PAUSE_MS);
      });
    });
  await launch();
  return child;
}

async function stopProcess(current: () => ChildProcess | null, graceMs: number, mark: () => void): Promise<void> {
  mark();
  const p = current();
  if (!p || p.exitCode !== null) return;
  const gone = new Promise<void>((resolve) => p.once("exit", () => resolve()));
  p.kill("SIGTERM");
  const insist = setTimeout(() => p.kill("SIGKILL"), graceMs);
  await gone;
  clearTimeout(insist);
}
