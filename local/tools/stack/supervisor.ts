import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { StartError } from "./data-folder.ts";
import { BEATS, watchBeats, type Beats } from "./heartbeat.ts";

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
  /** A function is asked at each start. */
  args: string[] | (() => string[]);
  command?: string;
  env: Record<string, string>;
  ready: "line" | "none";
  restart: boolean;
  /** How a child that sends beats is found hung; it is killed then, and comes back as after a death. */
  beats?: Beats;
  onLine(line: string): void;
  onDeath(reason: string): void;
}

/** Where Node keeps what it compiled, so that a process of many starts in half the time; launch.cjs names the same folder. */
const COMPILED = join(import.meta.dirname, "..", "..", "..", "node_modules", ".cache", "node");
const READY_MS = 60_000;
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
  const child = new SupervisedChild(options);
  await child.launch();
  return child;
}

class SupervisedChild implements Child {
  readonly name: string;
  url = "";
  readonly #options: ChildOptions;
  #current: ChildProcess | null = null;
  /** It is not to come back: for good, or until `up`. */
  #staysDown = false;
  #restarts = 0;
  #stderr = "";
  #hung = "";

  constructor(options: ChildOptions) {
    this.name = options.name;
    this.#options = options;
  }

  pid(): number | undefined {
    return this.#current?.pid;
  }

  kill(signal: NodeJS.Signals): void {
    this.#current?.kill(signal);
  }

  async stop(graceMs: number): Promise<void> {
    this.#staysDown = true;
    const p = this.#current;
    if (!p || p.exitCode !== null) return;
    const insist = setTimeout(() => p.kill("SIGKILL"), graceMs);
    await this.#ended(p, "SIGTERM");
    clearTimeout(insist);
  }

  async down(signal: NodeJS.Signals): Promise<void> {
    this.#staysDown = true;
    if (this.#current) await this.#ended(this.#current, signal);
  }

  up(once?: Record<string, string>): Promise<void> {
    this.#staysDown = false;
    return this.launch(once);
  }

  /** Starts the process; resolves when it is ready, rejects with StartError when it ends or stays silent before. */
  launch(once: Record<string, string> = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      const p = this.#spawn(once);
      const startedAt = performance.now();
      const late = (): void => reject(new StartError(`${this.name} did not become ready within ${READY_MS / 1000} s.`));
      const timer = this.#options.ready === "line" ? setTimeout(late, READY_MS) : null;
      const settle = (outcome: () => void): void => {
        if (timer) clearTimeout(timer);
        outcome();
      };
      if (this.#options.ready === "none") p.once("spawn", () => settle(resolve));
      this.#readOutput(p, () => settle(resolve));
      watchBeats(p, this.#options.beats ?? BEATS, (silentMs) => {
        this.#hung = `, killed: its event loop stood still for ${silentMs / 1000} s`;
        p.kill("SIGKILL");
      });
      p.once("error", (error) =>
        settle(() => reject(new StartError(`${this.name} could not be started: ${error.message}`))),
      );
      p.once("exit", (code, signal) => {
        const reason = this.#endOf(code, signal);
        settle(() => reject(new StartError(reason)));
        this.#restartAfter(reason, startedAt);
      });
    });
  }

  #spawn(once: Record<string, string>): ChildProcess {
    const { command = process.execPath, args, env } = this.#options;
    const { PATH, HOME } = process.env;
    this.#current = spawn(command, typeof args === "function" ? args() : args, {
      env: { PATH, HOME, NODE_COMPILE_CACHE: COMPILED, ...env, ...once },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      detached: true,
    });
    return this.#current;
  }

  #readOutput(p: ChildProcess, ready: () => void): void {
    if (p.stdout)
      createInterface({ input: p.stdout }).on("line", (line) => {
        const url = readyUrl(line);
        if (url) {
          this.url = url;
          ready();
        } else this.#options.onLine(line);
      });
    p.stderr?.on("data", (data: Buffer) => {
      this.#stderr = (this.#stderr + data.toString()).slice(-KEPT_STDERR);
    });
  }

  #endOf(code: number | null, signal: NodeJS.Signals | null): string {
    this.#current = null;
    const stderr = this.#stderr.trim();
    const hung = this.#hung;
    this.#stderr = "";
    this.#hung = "";
    return `${this.name} ended (${signal ?? `exit ${code ?? "?"}`}${hung})${stderr ? `: ${stderr}` : ""}`;
  }

  #restartAfter(reason: string, startedAt: number): void {
    if (this.#staysDown) return;
    this.#options.onDeath(reason);
    if (performance.now() - startedAt > STEADY_MS) this.#restarts = 0;
    if (!this.#options.restart || this.#restarts++ >= MAX_RESTARTS) return;
    setTimeout(() => {
      if (!this.#staysDown && !this.#current) this.launch().catch(() => undefined);
    }, RESTART_PAUSE_MS);
  }

  #ended(p: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    const gone = new Promise<void>((resolve) => p.once("exit", () => resolve()));
    p.kill(signal);
    return gone;
  }
}
