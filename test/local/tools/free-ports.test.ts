import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { freePort } from "../../../local/tools/stack/ports.ts";

const HOST = "127.0.0.1";

test("a port that was given away is free for a server, and kept from whoever else asks: its UDP port is taken", async () => {
  const port = await freePort();
  const server = createServer().listen(port, HOST);
  await once(server, "listening");
  const other = createSocket("udp4");
  const refused = once(other, "error");
  other.bind({ port, address: HOST, exclusive: true });
  expect(await refused).toMatchObject([{ code: "EADDRINUSE" }]);
  other.close();
  server.close();
  await once(server, "close");
});

test("many who ask at once get a port each", async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, () => freePort()));
  expect(new Set(ports).size).toBe(ports.length);
});
