import { spawn, spawnSync, type ChildProcessByStdio } from "node:child_process";
import type { Readable } from "node:stream";
import { NATS_PROGRAM_VARIABLE } from "../tools/stack/split-bus.ts";
import { hasProgram, PROGRAM_ENV, runProgram } from "./program.ts";

const APT_MS = 120_000;

/** What must stand before apt-get: nothing for root, sudo where it asks for no password; null: neither. */
function rights(): string[] | null {
  if (process.getuid?.() === 0) return [];
  const sudo =
    hasProgram("sudo") && spawnSync("sudo", ["-n", "true"], { env: PROGRAM_ENV, stdio: "ignore" }).status === 0;
  return sudo ? ["sudo", "-n"] : null;
}

/** Installs what npm cannot, saying so first; false: it is missing, and a person was told what to install. */
export async function provideNats(): Promise<boolean> {
  if (hasProgram("nats-server")) return true;
  const prefix = hasProgram("apt-get") ? rights() : null;
  if (prefix !== null) {
    const command = [...prefix, "apt-get", "install", "-y", "--no-install-recommends", "nats-server"].join(" ");
    console.log(`The tests need nats-server, which is not on the PATH. Installing Debian's package now: ${command}`);
    const apt = (...args: string[]): Promise<number> => {
      const [program = "apt-get", ...rest] = [...prefix, "apt-get", ...args];
      return runProgram(program, rest, { limitMs: APT_MS });
    };
    const install = (): Promise<number> => apt("install", "-y", "--no-install-recommends", "nats-server");
    if ((await install()) !== 0 && (await apt("update")) === 0) await install();
  }
  if (hasProgram("nats-server")) return true;
  console.error(
    "nats-server is missing and could not be installed from here. The tests that run one process per service need it.\n" +
      "Install it (Debian, Ubuntu: sudo apt install nats-server; macOS: brew install nats-server; else https://docs.nats.io) and try again.",
  );
  return false;
}

/** A bus of a test's own. */
export interface NatsServer {
  url: string;
  port: number;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** What the server says of its port, and when it takes connections. */
const LISTENS = /Listening for client connections on \S+:(\d+)/;
const READY = /Server is ready/;
/** The server's word for a port that it chooses itself. */
const ANY_PORT = -1;

/** The port of a server that takes connections; an error with what it said if it ends instead. */
function portOf(child: ChildProcessByStdio<null, null, Readable>): Promise<number> {
  let said = "";
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    // once its output is whole
    child.once("close", (code, signal) => reject(new Error(`nats-server ended (${signal ?? code}):\n${said}`)));
    const read = (chunk: Buffer): void => {
      said += chunk.toString("utf8");
      const [, port] = LISTENS.exec(said) ?? [];
      if (port === undefined || !READY.test(said)) return;
      child.stderr.off("data", read).resume();
      resolve(Number(port));
    };
    child.stderr.on("data", read);
  });
}

/**
 * Starts a server of its own with the settings of a deployment; its messages are a mebibyte at most. `config`: a file with more of them, its users.
 * `port`: of a server that was there before. Error: the server ended, with what it said.
 */
export async function startNats({
  port: wanted = ANY_PORT,
  config,
}: { port?: number; config?: string } = {}): Promise<NatsServer> {
  const more = config === undefined ? [] : ["--config", config];
  const child = spawn(
    process.env[NATS_PROGRAM_VARIABLE] ?? "nats-server",
    ["--addr", "127.0.0.1", "--port", String(wanted), ...more],
    {
      env: PROGRAM_ENV,
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const port = await portOf(child);
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    stop: async (signal = "SIGTERM") => {
      child.kill(signal);
      await ended;
    },
  };
}
