import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Queue, Worker } from "bullmq";
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { until } from "../../harness/stage.ts";
import { freePort } from "../../tools/stack/ports.ts";
import { ownProcessor, processorOfTree } from "../cpu-time.ts";

const READY_MS = 20_000;
const POLL_MS = 50;
const CONCURRENCY = 50;
/** Where Debian keeps what is not on the PATH. */
const POSTGRES_BIN = "/usr/lib/postgresql/15/bin";
const APT_MS = 180_000;

const wait = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
const versionOf = (pkg: string): string =>
  String(
    (
      JSON.parse(readFileSync(join(import.meta.dirname, "../../../node_modules", pkg, "package.json"), "utf8")) as {
        version: string;
      }
    ).version,
  );

function found(program: string, folder = "/usr/bin"): string | null {
  for (const dir of [...(process.env["PATH"] ?? "").split(":"), folder])
    if (existsSync(join(dir, program))) return join(dir, program);
  return null;
}

/** A Debian program, installed where that is possible. Throws a sentence that says what is missing. */
function debian(program: string, pkg: string, folder?: string): string {
  const there = found(program, folder);
  if (there) return there;
  try {
    execFileSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", pkg], {
      stdio: "ignore",
      timeout: APT_MS,
    });
  } catch {
    /* told below */
  }
  return (
    found(program, folder) ??
    (() => {
      throw new Error(
        `${program} is not here and could not be installed: as root, run "apt-get install ${pkg}", then start the bench again`,
      );
    })()
  );
}

async function listening(port: number, child: ChildProcess, name: string): Promise<void> {
  const end = performance.now() + READY_MS;
  while (performance.now() < end && child.exitCode === null) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.destroy();
        resolve(true);
      });
      socket.on("error", () => resolve(false));
    });
    if (open) return;
    await wait(POLL_MS);
  }
  throw new Error(`${name} did not come up on port ${port}`);
}

/** What does not hang on an IPC channel must not outlive a bench that breaks off. */
function tied(child: ChildProcess): ChildProcess {
  process.once("exit", () => {
    child.kill("SIGKILL");
  });
  return child;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
  });
  child.kill("SIGINT");
  await gone;
}

/** A peer that takes jobs with a delay, and tells how late each began. */
export interface DelayedPeer {
  name: string;
  version: string;
  late(count: number, perSecond: number): Promise<number[]>;
  stop(): Promise<void>;
}

/** How long before the first job is due all of a round are handed in. */
const AHEAD_MS = 2000;

/** BullMQ on a redis of its own that keeps nothing on disk, else with the defaults of both. */
export async function startBullmq(): Promise<DelayedPeer> {
  const program = debian("redis-server", "redis-server");
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), "callagent-redis-"));
  const redis = tied(
    spawn(program, ["--port", String(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no"], {
      stdio: "ignore",
    }),
  );
  await listening(port, redis, "redis-server");
  const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
  const queue = new Queue("bench", { connection });
  let begun: (due: number) => void = () => undefined;
  const worker = new Worker(
    "bench",
    (job) => {
      begun((job.data as { due: number }).due);
      return Promise.resolve();
    },
    { connection, concurrency: CONCURRENCY },
  );
  await worker.waitUntilReady();
  return {
    name: "BullMQ delayed jobs",
    version: `bullmq ${versionOf("bullmq")}, ${execFileSync(program, ["--version"]).toString().split(" ").slice(0, 3).join(" ")}`,
    async late(count, perSecond) {
      const late: number[] = [];
      const all = new Promise<void>((resolve) => {
        begun = (due) => {
          if (late.push(Date.now() - due) === count) resolve();
        };
      });
      const first = Date.now() + AHEAD_MS;
      const dueOf = (i: number): number => first + (i * 1000) / perSecond;
      await queue.addBulk(
        Array.from({ length: count }, (_, i) => ({
          name: "job",
          data: { due: dueOf(i) },
          // the delay counts from the job's timestamp, which would otherwise be later than the one of this line
          opts: { delay: dueOf(i) - first, timestamp: first, removeOnComplete: true },
        })),
      );
      await all;
      return late;
    },
    async stop() {
      await worker.close();
      await queue.close();
      await ended(redis);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** A peer that works through what is due. */
export interface RatePeer {
  name: string;
  version: string;
  /** Jobs a second, and processor time of all its processes for each, µs; handing the jobs in is in neither. */
  rate(count: number): Promise<{ perSecond: number; processor: number }>;
  stop(): Promise<void>;
}

/** PostgreSQL does not run as root: then as nobody. */
function unprivileged(dir: string): { uid: number; gid: number } | Record<string, never> {
  if (process.getuid?.() !== 0) return {};
  const [, , uid, gid] =
    readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .find((l) => l.startsWith("nobody:"))
      ?.split(":") ?? [];
  const user = { uid: Number(uid), gid: Number(gid) };
  chownSync(dir, user.uid, user.gid);
  return user;
}

/** Counts jobs: `all` resolves with the time from the first to the last, ms. */
function completion(count: number): { done(): void; all: Promise<number> } {
  let n = 0;
  let began = 0;
  const { promise, resolve } = Promise.withResolvers<number>();
  const done = (): void => {
    if (n === 0) began = performance.now();
    if (++n === count) resolve(performance.now() - began);
  };
  return { done, all: promise };
}

/** Processor time of this process and of a server with its children, microseconds. */
const usedWith = (server: ChildProcess): number => ownProcessor() + processorOfTree(server.pid ?? 0);

/** graphile-worker on a PostgreSQL of its own, with the defaults of both; 50 jobs at a time, tasks that do nothing. */
export async function startGraphile(): Promise<RatePeer> {
  const [postgres, initdb] = [
    debian("postgres", "postgresql", POSTGRES_BIN),
    debian("initdb", "postgresql", POSTGRES_BIN),
  ];
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), "callagent-postgres-"));
  const user = unprivileged(dir);
  execFileSync(initdb, ["-D", join(dir, "data"), "-U", "bench", "--auth=trust", "-E", "UTF8"], {
    ...user,
    cwd: dir,
    stdio: "ignore",
    env: { ...process.env, LC_ALL: "C" },
  });
  const server = tied(
    spawn(postgres, ["-D", join(dir, "data"), "-p", String(port), "-h", "127.0.0.1", "-k", dir], {
      ...user,
      cwd: dir,
      stdio: "ignore",
    }),
  );
  await listening(port, server, "postgres");
  const connectionString = `postgres://bench@127.0.0.1:${port}/postgres`;
  const logger = new Logger(() => () => undefined);
  // it listens a while before it takes anybody
  const utils = await until(
    "PostgreSQL to take connections",
    () => makeWorkerUtils({ connectionString, logger }).catch(() => undefined),
    READY_MS,
    POLL_MS,
  );
  await utils.migrate();
  return {
    name: "graphile-worker, default",
    version: `graphile-worker ${versionOf("graphile-worker")}, ${execFileSync(postgres, ["--version"]).toString().trim()}`,
    async rate(count) {
      await utils.withPgClient((client) =>
        client.query("select graphile_worker.add_job('noop', '{}') from generate_series(1, $1::int)", [count]),
      );
      const watch = completion(count);
      const before = usedWith(server);
      const runner = await run({
        connectionString,
        concurrency: CONCURRENCY,
        maxPoolSize: CONCURRENCY + 5,
        noHandleSignals: true,
        logger,
        taskList: { noop: watch.done },
      });
      const ms = await watch.all;
      const processor = (usedWith(server) - before) / count;
      await runner.stop();
      return { perSecond: count / (ms / 1000), processor };
    },
    async stop() {
      await utils.release();
      await ended(server);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
