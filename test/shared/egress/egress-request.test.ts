import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "../../../shared/time/clock.ts";
import { egressClient, type EgressRequest } from "../../../shared/egress/egress-request.ts";
import { until } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const OPEN = { allow_http: true, allow_private: true };
const PUBLIC_ONLY = { allow_http: true, allow_private: false };
const BOUNDS = { connectTimeoutMs: 2000, maxAnswerBytes: 1000 };
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function serve(handler: RequestListener): Promise<string> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  closers.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
const asking = (url: string, how: Partial<EgressRequest> = {}): EgressRequest => ({
  url,
  method: "GET",
  headers: {},
  body: null,
  timeoutMs: 5000,
  read: "all",
  ...how,
});
const client = (policy = OPEN, clock = systemClock) => {
  const made = egressClient(policy, clock, BOUNDS);
  closers.unshift(() => made.destroy());
  return made;
};

test("the answer's head, and its body as far as it was asked for", async () => {
  const url = await serve((_request, response) => response.writeHead(201, { "x-a": "b" }).end("0123456789"));
  expect(await client().send(asking(url))).toMatchObject({ status: 201, headers: { "x-a": "b" }, text: "0123456789" });
  expect(await client().send(asking(url, { read: { firstBytes: 4 } }))).toMatchObject({ text: "0123" });
  expect(await client().send(asking(url, { read: "nothing" }))).toMatchObject({ status: 201, text: "" });
});

test("what was sent arrives", async () => {
  let got = "";
  const url = await serve((request, response) => {
    request.on("data", (part: Buffer) => (got += part.toString()));
    request.on("end", () => response.end(`${request.method} ${request.headers["x-a"]}`));
  });
  expect(await client().send(asking(url, { method: "POST", headers: { "x-a": "1" }, body: "{}" }))).toMatchObject({
    text: "POST 1",
  });
  expect(got).toBe("{}");
});

test("an answer larger than the bound is too large where all of it was asked for", async () => {
  const url = await serve((_request, response) => response.end("x".repeat(2000)));
  expect(await client().send(asking(url))).toMatchObject({ failure: "too_large" });
});

test("a private address is refused before anything is sent, whatever its spelling", async () => {
  for (const url of ["http://127.0.0.1:8080/", "http://[::1]:8080/", "ftp://example.com/"])
    expect(await client(PUBLIC_ONLY).send(asking(url))).toMatchObject({
      failure: "refused",
      reason: expect.any(String),
    });
});

test("a server that is silent is given up on after the time-out, one that is aborted at once, one that is not there with its code", async () => {
  let met = 0;
  const url = await serve(() => {
    met++;
  });
  const clock = virtualClock();
  const late = client(OPEN, clock).send(asking(url));
  await until("the server to be asked", () => met === 1 || undefined);
  await clock.advance(5000);
  expect(await late).toMatchObject({ failure: "timeout" });
  const stop = new AbortController();
  const aborted = client().send(asking(url), stop.signal);
  await until("the server to be asked again", () => met === 2 || undefined);
  stop.abort();
  expect(await aborted).toMatchObject({ failure: "aborted" });
  expect(await client().send(asking("http://127.0.0.1:9/"))).toEqual({
    failure: "failed",
    reason: null,
    code: "ECONNREFUSED",
  });
});
