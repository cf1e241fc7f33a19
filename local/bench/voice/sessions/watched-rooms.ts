import childProcess, { type ChildProcess, type ForkOptions } from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import { createInterface } from "node:readline";
import { Duplex } from "node:stream";
import { recordIn, textOf } from "../../../../shared/json.ts";
import { PROBE_FD, type ProcessLoad } from "./load-meter.ts";
import type { Passed, Places } from "./sound-stages.ts";

type Ask = (what: "load" | "sounds") => Promise<string>;

/** The processes of LiveKit rooms that this process starts, from inside. */
export interface WatchedRooms {
  /** What each was like since it was asked last. */
  measure(): Promise<ProcessLoad[]>;
  /** The sound that passed between them and LiveKit's library since it was asked last, by the rooms' names; from the first time on. */
  sounds(): Promise<Pick<Places, "told" | "given">>;
}

const PROBE = new URL("./room-probe.ts", import.meta.url).href;

/** The lines of a process's channel, one for each question. */
function asker(channel: Duplex): Ask {
  const lines = createInterface({ input: channel });
  return async (what) => {
    const answer = new Promise<string>((resolve) => {
      lines.once("line", resolve);
    });
    channel.write(`${what}\n`);
    return answer;
  };
}

/** The room that a token lets into. */
function roomIn(token: string): string {
  const claims = recordIn(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
  return textOf(recordIn(JSON.stringify(claims?.["video"]))?.["room"]);
}

/** Notes which rooms a process is sent to: in it they have other names. */
function noteRooms(child: ChildProcess, rooms: Map<string, string>): void {
  const { send } = child;
  Object.assign(child, {
    send(order: object, ...more: unknown[]): unknown {
      if ("token" in order && "id" in order) rooms.set(String(order.id), roomIn(String(order.token)));
      return Reflect.apply(send, child, [order, ...more]);
    },
  });
}

/**
 * Watches the processes of rooms that are started from now on: each gets the probe before its program, and a channel to it. The service starts them without our environment and without
 * outputs, and a signal opens their inspectors on one port for all, which any other program of the machine may have.
 */
export function watchRooms(): WatchedRooms {
  const asked = new Map<ChildProcess, Ask>();
  const rooms = new Map<string, string>();
  const { fork } = childProcess;
  const watched = (program: string | URL, args: readonly string[] = [], options: ForkOptions = {}): ChildProcess => {
    const { execArgv = [], stdio } = options;
    const child = fork(program, args, {
      ...options,
      execArgv: [...execArgv, "--import", PROBE],
      ...(Array.isArray(stdio) ? { stdio: [...stdio, "pipe"] } : {}),
    });
    noteRooms(child, rooms);
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
  const named = (all: readonly Passed[]): Passed =>
    Object.fromEntries(all.flatMap((passed) => Object.entries(passed)).map(([id, of]) => [rooms.get(id) ?? id, of]));
  const ask = (what: "load" | "sounds"): Promise<string[]> => Promise.all([...asked.values()].map((one) => one(what)));
  return {
    measure: async () => (await ask("load")).map((line) => JSON.parse(line) as ProcessLoad),
    async sounds() {
      const all = (await ask("sounds")).map((line) => JSON.parse(line) as Pick<Places, "told" | "given">);
      return { told: named(all.map(({ told }) => told)), given: named(all.map(({ given }) => given)) };
    },
  };
}
