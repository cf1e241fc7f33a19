import { createWriteStream, existsSync, renameSync, type WriteStream } from "node:fs";
import type { Folder } from "./data-folder.ts";
import { startChild, type Child } from "./supervisor.ts";

/** A line of a service's log. */
export interface LogLine {
  level?: string;
  event?: string;
  service?: string;
  msg?: string;
  [field: string]: unknown;
}

/** Receives what the children log, and how one of them ended by itself. */
export interface ChildObserver {
  onLog(line: LogLine): void;
  onDeath(reason: string): void;
}

/** How a child of the group is started. */
export interface StartOptions {
  /** A function is asked at each start. */
  args: string[] | (() => string[]);
  env?: Record<string, string>;
  ready: "line" | "none";
  command?: string;
}

/** The services get this long where nothing else is asked for. */
const SERVICES_GRACE_MS = 3500;
const CHILD_GRACE_MS = 1000;

function parseLog(line: string): LogLine | null {
  if (!line.startsWith("{")) return null;
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return null;
  }
}

/** The log of this start, and that of the one before. */
export const LOG_FILE = "callagent.log";
export const FORMER_LOG_FILE = "callagent.former.log";

/** Opens a log of its own for this start; that of the start before is kept, for who restarts because something went wrong. */
function openLog(folder: Folder): WriteStream {
  if (existsSync(folder.at(LOG_FILE))) renameSync(folder.at(LOG_FILE), folder.at(FORMER_LOG_FILE));
  return createWriteStream(folder.at(LOG_FILE), { flags: "w" });
}

/** What a child said, or what became of it, as a line like those of the services. */
const asLine = (service: string, level: string, event: string, msg: string): string =>
  JSON.stringify({ level, time: new Date().toISOString(), service, event, msg });

/** The processes of one stack with their common log file. */
export class ChildGroup {
  readonly children = new Map<string, Child>();
  /** The names of the children that run services. */
  readonly services: string[] = [];
  readonly #observer: ChildObserver;
  readonly #log: WriteStream;
  #lastDeath: string | null = null;

  constructor(folder: Folder, observer: ChildObserver) {
    this.#observer = observer;
    this.#log = openLog(folder);
  }

  /** How the last child that ended by itself did so; null while none has. */
  get lastDeath(): string | null {
    return this.#lastDeath;
  }

  /** Starts a child and resolves when it is ready. */
  async start(name: string, options: StartOptions): Promise<Child> {
    const child = await startChild({
      name,
      args: options.args,
      env: options.env ?? {},
      ready: options.ready,
      restart: true,
      ...(options.command ? { command: options.command } : {}),
      onLine: (line) => {
        const parsed = parseLog(line);
        this.#log.write(`${parsed ? line : asLine(name, "info", "process.output", line)}\n`);
        if (parsed) this.#observer.onLog(parsed);
      },
      onDeath: (reason) => {
        this.#log.write(`${asLine(name, "error", "process.ended", reason)}\n`);
        this.#lastDeath = reason;
        this.#observer.onDeath(reason);
      },
    });
    this.children.set(name, child);
    return child;
  }

  /** Starts a child that runs services; it is listed as one even when it fails to start. */
  startService(name: string, options: Omit<StartOptions, "ready">): Promise<Child> {
    this.services.push(name);
    return this.start(name, { ...options, ready: "none" });
  }

  /** Stops the services, within the grace, then what they stand on, the store last. */
  async stop(servicesGraceMs = SERVICES_GRACE_MS): Promise<void> {
    await Promise.all(this.services.map((name) => this.children.get(name)?.stop(servicesGraceMs)));
    const others = [...this.children].filter(([name]) => !this.services.includes(name) && name !== "store");
    await Promise.all(others.map(([, child]) => child.stop(CHILD_GRACE_MS)));
    await this.children.get("store")?.stop(CHILD_GRACE_MS);
    await new Promise<void>((resolve) => this.#log.end(() => resolve()));
  }

  /** Ends every child at once. */
  async kill(): Promise<void> {
    await Promise.all([...this.children.values()].map((child) => child.down("SIGKILL")));
  }
}
