import { request as httpRequest, createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Agent } from "node:http";
import { HeldBack } from "../../../services/dialer/carriers/carrier-errors.ts";
import { fetchLeaving, holding, leaving } from "../../../services/dialer/carriers/departure.ts";
import { openRest } from "../../../services/dialer/carriers/twilio/rest.ts";

/** A server that counts what comes to it. */
const seen = { connections: 0, requests: 0 };
const sockets = new Set<Socket>();
const server = createServer((request, response) => {
  seen.requests++;
  request.resume().on("end", () => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
});
server.on("connection", (socket) => {
  seen.connections++;
  sockets.add(socket);
});
let url = "";
beforeAll(async () => {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});
beforeEach(() => {
  Object.assign(seen, { connections: 0, requests: 0 });
});

const overNode = (agent: Agent) => (may: (() => boolean) | undefined) =>
  leaving(
    may,
    () =>
      new Promise<void>((resolve, reject) => {
        httpRequest(url, { agent, method: "POST" }, (response) => response.resume().on("end", resolve))
          .on("error", reject)
          .end("body");
      }),
  );
const overFetch = async (may: (() => boolean) | undefined): Promise<void> => {
  const how = {
    method: "POST",
    redirect: "error",
    signal: AbortSignal.timeout(5000),
    headers: {},
    body: "body",
  } as const;
  await (await fetchLeaving(may)(url, how)).text();
};
const heldBack = (error: unknown): boolean =>
  error instanceof HeldBack || (error instanceof Error && error.cause instanceof HeldBack);

describe.each([
  ["node's agent", overNode(holding(new Agent({ keepAlive: true })))],
  ["fetch", overFetch],
])("a request over %s", (_name, send) => {
  test("is asked about once its connection is there: over a new one and over one in use", async () => {
    const connections: number[] = [];
    const may = (): boolean => {
      connections.push(seen.connections);
      return true;
    };
    await send(may);
    await send(may);
    expect(connections[0]).toBe(1);
    expect([connections.length, seen.requests]).toEqual([2, 2]);
  });
  test("that may not leave sends nothing, and says so; the next one goes", async () => {
    const error = await send(() => false).catch((e: unknown) => e);
    expect(heldBack(error)).toBe(true);
    expect(seen.requests).toBe(0);
    await send(() => true);
    await send(undefined);
    expect(seen.requests).toBe(2);
  });
});

test("the first dial of a process is held back when its permit ran out while the connection was made and the SDK loaded", async () => {
  const rest = await openRest({ account_sid: `AC${"0".repeat(32)}`, auth_token: "t", api_base: url });
  const dial = (may: () => boolean) =>
    leaving(may, () => rest.calls.create({ to: "+14155550100", from: "+14155550101", twiml: "<Response/>" }));
  const error = await dial(() => false).catch((e: unknown) => e);
  expect(heldBack(error)).toBe(true);
  expect(seen.requests).toBe(0);
  await dial(() => true);
  expect(seen.requests).toBe(1);
});
