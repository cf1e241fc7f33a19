import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import { StartError } from "./data-folder.ts";

const HOST = "127.0.0.1";

const tryPort = (port: number): Promise<number | null> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen(port, HOST, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : null));
    });
  });

/** Below the ports that systems give to outgoing connections (Linux: 32768 and up): a port that is free stays free until its server starts. */
const PORTS = { from: 10_000, to: 32_000 } as const;
const TRIES = 100;

/** A port that was given away is given to nobody else for so long: by then its server has started. */
const KEPT_MS = 120_000;

/** Keeps the UDP port of the same number, which all processes of the machine see and no server of ours takes; false: somebody has it already. */
const keep = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createSocket("udp4");
    socket.once("error", () => {
      socket.close();
      resolve(false);
    });
    socket.bind({ port, address: HOST, exclusive: true }, () => {
      socket.unref();
      setTimeout(() => socket.close(), KEPT_MS).unref();
      resolve(true);
    });
  });

/** A free port of this machine, which nobody else who asks here is given until its server has had time to start. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(PORTS.from, PORTS.to);
    if ((await keep(port)) && (await tryPort(port)) !== null) return port;
  }
  throw new StartError("This machine has no free port.");
}

/** `port` if it is free, a free one if it is 0; StartError saying which variable to change otherwise. */
export async function wantedPort(port: number, variable: string, purpose: string): Promise<number> {
  if (port === 0) return freePort();
  return (
    (await tryPort(port)) ??
    (() => {
      throw new StartError(
        `Port ${port} (${purpose}) is taken: stop the program that uses it, or choose another with ${variable}=<port>.`,
      );
    })()
  );
}
