import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What receivers saw: milliseconds from the lead's finish to the report's arrival, by the receiver's number. */
export interface Arrivals {
  of(receiver: number): number[];
  count(): number;
  clear(): void;
}

/** Receivers of reports, each its own host to the sender (a port of its own). */
export interface Receivers {
  urls: string[];
  arrivals: Arrivals;
  close(): Promise<void>;
}

const listening = (server: Server): Promise<string> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/reports`));
  });
const closing = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.closeAllConnections();
    server.close(() => resolve());
  });

/** Receivers that answer 204 as soon as they have read the report. */
export async function startReceivers(count: number): Promise<Receivers> {
  const seen = new Map<number, number[]>();
  const handler =
    (receiver: number) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      const at = Date.now();
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => {
        parts.push(part);
      });
      request.on("end", () => {
        const { timestamp } = JSON.parse(Buffer.concat(parts).toString("utf8")) as { timestamp: string };
        const of = seen.get(receiver) ?? [];
        of.push(at - Date.parse(timestamp));
        seen.set(receiver, of);
        response.writeHead(204).end();
      });
    };
  const servers = Array.from({ length: count }, (_, i) => createServer(handler(i)));
  const urls = await Promise.all(servers.map(listening));
  return {
    urls,
    arrivals: {
      of: (receiver) => seen.get(receiver) ?? [],
      count: () => [...seen.values()].reduce((n, of) => n + of.length, 0),
      clear: () => {
        seen.clear();
      },
    },
    close: async () => {
      await Promise.all(servers.map(closing));
    },
  };
}

/** A receiver that takes everything and never answers. */
export async function startBlackHole(): Promise<{ url: string; met(): number; close(): Promise<void> }> {
  let met = 0;
  const server = createServer((request) => {
    met++;
    request.resume();
  });
  const url = await listening(server);
  return { url, met: () => met, close: () => closing(server) };
}
