import childProcess, { type ChildProcess, type ForkOptions } from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import { createInterface } from "node:readline";
import { Duplex } from "node:stream";
import { PROBE_FD, type ProcessLoad } from "./load-meter.ts";

/** The processes of LiveKit rooms that this process starts, from inside. */
export interface WatchedRooms {
  /** What each was like since it was asked last. */
  measure(): Promise<ProcessLoad[]>;
}

const PROBE = new URL("./room-probe.ts", import.meta.url).href;

/** The lines of a process's channel, one for each question. */
function asker(channel: Duplex): () => Promise<ProcessLoad> {
  const lines = createInterface({ input: channel });
  return async () => {
    const answer = new Promise<string>((resolve) => {
      lines.once("line", resolve);
    });
    channel.write("?\n");
    return JSON.parse(await answer) as ProcessLoad;
  };
}

/**
 * Watches the processes of rooms that are started from now on: each gets the probe before its program, and a channel to it. The service starts them without our environment and without
 * outputs, and a signal opens their inspectors on one port for all, which any other program of the machine may have.
 */
export function watchRooms(): WatchedRooms {
  const asked = new Map<ChildProcess, () => Promise<ProcessLoad>>();
  const { fork } = childProcess;
  const watched = (program: string | URL, args: readonly string[] = [], options: ForkOptions = {}): ChildProcess => {
    const { execArgv = [], stdio } = options;
    const child = fork(program, args, {
      ...options,
      execArgv: [...execArgv, "--import", PROBE],
      ...(Array.isArray(stdio) ? { stdio: [...stdio, "pipe"] } : {}),
    });
    const channel = child.stdio[PROBE_FD];
    if (channel instanceof Duplex) {
      asked.set(child, asker(channel));
      channel.on("error", () => undefined);
    }
    child.once("exit", () => asked.delete(child));
    return child;
  };
  Object.assign(childProcess, { fork: watched });
  syncBuiltinESMExports();
  return { measure: () => Promise.all([...asked.values()].map((ask) => ask())) };
}
