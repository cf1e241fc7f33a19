import { startNats } from "../../../local/harness/nats-server.ts";

test("a server that ends before it takes connections fails its start at once, with what it said", async () => {
  const first = await startNats();
  try {
    await expect(startNats({ port: first.port })).rejects.toThrow(/ended \(1\)[^]*address already in use/);
    await expect(startNats({ config: "/missing.conf" })).rejects.toThrow(/missing\.conf: no such file/);
  } finally {
    await first.stop();
  }
});

test("servers that start side by side choose a port each", async () => {
  const servers = await Promise.all([startNats(), startNats(), startNats()]);
  await Promise.all(servers.map((server) => server.stop()));
  expect(new Set(servers.map(({ port, url }) => `${port} ${new URL(url).port}`)).size).toBe(3);
});
