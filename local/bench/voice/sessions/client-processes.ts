import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { AwaitedCall } from "../answered-calls.ts";
import type { ClientsLoad, ClientsMessage, ClientsRequest, ClientTurn, Talk } from "./client-messages.ts";

const PROGRAM = fileURLToPath(new URL("./clients-program.ts", import.meta.url));
/** The longest answer is a minute of talk, and what its last turn waits for. */
const MOST_MS = 180_000;

/** Clients in processes of their own. */
export interface ClientProcesses {
  /** The first of those that are awaited and have no client yet join, so many; absent: all. */
  join(count?: number): Promise<void>;
  rehearse(): Promise<void>;
  turns(turns: number): Promise<ClientTurn[]>;
  talk(seconds: number): Promise<Talk>;
  measure(): Promise<ClientsLoad[]>;
  leave(): Promise<void>;
  stop(): void;
}

/** Asks a process of clients; rejects with what went wrong in it. */
function ask(child: ChildProcess, request: ClientsRequest | null): Promise<ClientsMessage> {
  return new Promise((resolve, reject) => {
    const over = (act: () => void): void => {
      clearTimeout(late);
      child.off("message", heard);
      child.off("exit", dead);
      act();
    };
    const heard = (message: ClientsMessage): void =>
      over(() => (message.told === "failed" ? reject(new Error(message.why)) : resolve(message)));
    const dead = (code: number | null): void =>
      over(() => reject(new Error(`a process of clients ended with ${String(code)}`)));
    const late = setTimeout(() => over(() => reject(new Error(`a process of clients is silent`))), MOST_MS);
    child.on("message", heard);
    child.once("exit", dead);
    if (request !== null) child.send(request);
  });
}

async function started(): Promise<ChildProcess> {
  const child = fork(PROGRAM, [], {
    // else LiveKit's library logs everything
    env: { PATH: process.env["PATH"], NODE_ENV: "production" },
  });
  await ask(child, null);
  return child;
}

/** Starts processes for clients of those that are awaited, so many in each. */
export async function startClients(awaited: readonly AwaitedCall[], each: number): Promise<ClientProcesses> {
  const children = await Promise.all(Array.from({ length: Math.ceil(awaited.length / each) }, started));
  const all = (request: ClientsRequest): Promise<ClientsMessage[]> =>
    Promise.all(children.map((child) => ask(child, request)));
  let joined = 0;
  return {
    async join(count = awaited.length) {
      const until = Math.min(awaited.length, joined + count);
      const joining = awaited.slice(joined, until).map((call, i) => ({ ...call, n: joined + i }));
      joined = until;
      // one process after the other: who joins takes the machine's time
      for (const [at, child] of children.entries()) {
        const clients = joining.filter(({ n }) => Math.floor(n / each) === at);
        if (clients.length > 0) await ask(child, { ask: "join", clients });
      }
    },
    async rehearse() {
      await all({ ask: "rehearse", all: awaited.length });
    },
    turns: async (turns) =>
      (await all({ ask: "turns", turns })).flatMap((message) => (message.told === "turns" ? message.turns : [])),
    async talk(seconds) {
      const talks = (await all({ ask: "talk", seconds })).filter((message) => message.told === "talked");
      return {
        answers: talks.flatMap(({ answers }) => answers),
        gone: talks.reduce((sum, { gone }) => sum + gone, 0),
      };
    },
    measure: async () =>
      (await all({ ask: "measure" })).flatMap((message) => (message.told === "measured" ? [message.load] : [])),
    async leave() {
      await all({ ask: "leave" });
    },
    stop: () => children.forEach((child) => child.kill("SIGKILL")),
  };
}
