import { appendFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { PROGRAM_ENV } from "../../harness/program.ts";
import { mustRun } from "../machine.ts";
import { inside, rootOf } from "./debian-folder.ts";

const DATA = "/var/lib/postgresql/callagent";
const LOG = "/tmp/postgres.log";
const START_MS = 120_000;
const STOP_MS = 60_000;

/** It is thrown away at the next start, so that it need not wait for the disk: durability is not what is tested here. */
const settings = (port: number): string => `
port = ${port}
listen_addresses = '127.0.0.1'
unix_socket_directories = '/tmp'
max_connections = 300
shared_preload_libraries = 'pg_cron,pg_documentdb_core,pg_documentdb'
cron.database_name = 'postgres'
cron.host = '127.0.0.1'
documentdb.enableUserCrud = true
fsync = off
synchronous_commit = off
full_page_writes = off
`;

/** Stops the server of this folder, where one runs. */
export async function stopPostgres(folder: string): Promise<void> {
  if (!existsSync(join(rootOf(folder), DATA, "postmaster.pid"))) return;
  await mustRun("unshare", inside(folder, "postgres", ["pg_ctl", "-D", DATA, "-m", "fast", "-w", "stop"]), {
    purpose: "PostgreSQL could not be stopped",
    log: join(folder, "logs", "postgres.log"),
    limitMs: STOP_MS,
  });
}

/** Starts PostgreSQL with empty data and the extension documentdb on a port of 127.0.0.1. Throws PartError. */
export async function startPostgres(folder: string, port: number): Promise<void> {
  const data = join(rootOf(folder), DATA);
  const work = {
    purpose: "PostgreSQL with documentdb could not be started",
    log: join(folder, "logs", "postgres.log"),
    limitMs: START_MS,
  };
  const as = (user: "root" | "postgres", ...command: string[]): Promise<void> =>
    mustRun("unshare", inside(folder, user, command), work);
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data, { recursive: true, mode: 0o700 });
  await as("root", "chown", "postgres:postgres", DATA);
  await as("postgres", "initdb", "-D", DATA, "--auth=trust", "--no-locale", "--encoding=UTF8", "--no-sync");
  appendFileSync(join(data, "postgresql.conf"), settings(port));
  await as("postgres", "pg_ctl", "-D", DATA, "-w", "-l", LOG, "start");
  await as("postgres", ...psql(port), "-c", "CREATE EXTENSION IF NOT EXISTS documentdb CASCADE");
}

const psql = (port: number): string[] => ["psql", "-qAt", "-h", "127.0.0.1", "-p", String(port), "-d", "postgres"];
const VERSIONS = `SELECT 'DocumentDB ' || extversion || ', PostgreSQL ' || current_setting('server_version') FROM pg_extension WHERE extname = 'documentdb'`;

/** What runs there, as it says itself. */
export function versionsOf(folder: string, port: number): string {
  const asked = spawnSync("unshare", inside(folder, "postgres", [...psql(port), "-c", VERSIONS]), {
    env: PROGRAM_ENV,
    encoding: "utf8",
  });
  return asked.stdout.trim();
}
