import { createServer } from "node:http";
import { request } from "undici";
import { egressAgent } from "../../shared/egress.ts";

/** The check at connect time, by itself: a name that passed every check before it still leads nowhere private. */
test("a name that resolves to this machine is refused when connecting, and let through where that is allowed", async () => {
  let met = 0;
  const server = createServer((_q, r) => { met++; r.end("here"); });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const address = server.address();
  const url = `http://localhost:${typeof address === "object" && address ? address.port : 0}/`;
  const strict = egressAgent({ allow_http: true, allow_private: false }, { connectTimeoutMs: 1000 });
  const open = egressAgent({ allow_http: true, allow_private: true }, { connectTimeoutMs: 1000 });
  await expect(request(url, { dispatcher: strict })).rejects.toMatchObject({ code: "ADDRESS_REFUSED" });
  expect(met).toBe(0);
  expect(await (await request(url, { dispatcher: open })).body.text()).toBe("here");
  await Promise.all([strict.close(), open.close()]);
  server.close();
});
