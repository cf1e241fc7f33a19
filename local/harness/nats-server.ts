import { spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable } from "node:stream";
import { NATS_PROGRAM_VARIABLE } from "../tools/stack/split-bus.ts";
import { PROGRAM_ENV } from "./program.ts";

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
