import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { afterEach, expect, test } from "@jest/globals";
import { startUdpProxy, type UdpProxy } from "../../../local/harness/udp-proxy.ts";
import { until } from "../../../local/harness/stage.ts";

const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

async function socketAt(): Promise<{ socket: Socket; port: number; heard: string[] }> {
  const socket = createSocket("udp4");
  const heard: string[] = [];
  socket.on("message", (packet) => heard.push(packet.toString()));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  open.push(socket);
  return { socket, port: socket.address().port, heard };
}

/** A server that answers each packet, a proxy before it, and two clients. */
async function line(): Promise<{ proxy: UdpProxy; server: string[]; clients: Awaited<ReturnType<typeof socketAt>>[] }> {
  const server = await socketAt();
  server.socket.on("message", (packet, { port }) => server.socket.send(`re ${packet.toString()}`, port, "127.0.0.1"));
  const proxy = await startUdpProxy(server.port);
  open.push(proxy);
  return { proxy, server: server.heard, clients: [await socketAt(), await socketAt()] };
}

test("each client gets the answers to what it sent; while packets are dropped nobody hears anything, and is not told", async () => {
  const { proxy, server, clients } = await line();
  const [one, other] = clients;
  const send = (from: typeof one, text: string) => from?.socket.send(text, proxy.port, "127.0.0.1");
  send(one, "a");
  send(other, "b");
  await until("both answers", () => (one?.heard.length === 1 && other?.heard.length === 1) || undefined);
  expect([one?.heard, other?.heard, proxy.clients()]).toEqual([["re a"], ["re b"], 2]);
  proxy.drop(true);
  send(one, "lost");
  await until("it to be dropped", () => proxy.dropped() === 1 || undefined);
  proxy.drop(false);
  send(one, "c");
  await until("the network to be back", () => one?.heard.includes("re c") || undefined);
  expect([one?.heard, server]).toEqual([["re a", "re c"], expect.not.arrayContaining(["lost"])]);
});
