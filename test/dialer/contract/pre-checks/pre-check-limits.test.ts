import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { plusSeconds } from "../../../../shared/time/clock.ts";
import type { DialJob } from "../../../../shared/contracts/dialer.ts";
import { until } from "../../../../local/harness/stage.ts";
import { virtualClock } from "../../../fixtures/virtual-clock.ts";
import { toldIs } from "../../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../../fixtures/dialer-stage/dialer-stage.ts";

interface Seen {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}
type Answer = (response: ServerResponse, seen: Seen) => unknown;

const clock = virtualClock();
let d: DialerStage;
let server: Server;
let base: string;
const seen: Seen[] = [];
let answer: Answer = () => undefined;
const json =
  (body: unknown, status = 200): Answer =>
  (response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (c: Buffer) => chunks.push(c));
    request.on("end", () => {
      const one = {
        method: request.method ?? "",
        url: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      };
      seen.push(one);
      answer(response, one);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  d = await setDialerStage({ clock, env: { WEBHOOK_ALLOW_HTTP: "true", WEBHOOK_ALLOW_PRIVATE: "true" } });
});
afterAll(async () => {
  await d.stop();
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  d.reset();
  clock.set(new Date());
  seen.length = 0;
  answer = json({ ok: true });
});

const dial = (order: DialJob) => d.dial(order);
const names = (order: DialJob) => d.toldOf(order).map((t) => t.what);
const dialled = (order: DialJob) => d.dials.filter((to) => to === order.to).length;
const check = (more: Record<string, unknown> = {}) => ({
  name: "stock",
  type: "external_api",
  enabled: true,
  url: `${base}/stock`,
  ...more,
});
const checked = (checks: Record<string, unknown>[], over: Partial<DialJob> = {}) =>
  d.order("06", { pre_checks: checks, ...over });

describe("what changes while strangers are waited for", () => {
  test.each<[string, () => unknown, Partial<DialJob>, string, object | null]>([
    [
      "the number is listed",
      () => {
        d.script.listed = true;
      },
      {},
      "leads.settle",
      { facts: { dropped_as: "BLACKLISTED" } },
    ],
    [
      "the window closes",
      () => clock.advance(60_000),
      { dial_until: "soon" },
      "leads.release",
      { reason: "the calling window closed" },
    ],
    [
      "the lead goes on without us",
      async () => {
        d.script.extend = () => false;
        await clock.advance(10_001);
      },
      {},
      "numbers.releaseMany",
      null,
    ],
  ])("%s: not dialled", async (_name, change, over, what, params) => {
    const order = checked(
      [check({ retries: 0 })],
      over.dial_until === undefined ? {} : { dial_until: plusSeconds(clock.now(), 62).toISOString() },
    );
    answer = (response, one) => {
      void (async () => {
        await change();
        if (what !== "numbers.releaseMany") json({})(response, one);
      })();
    };
    await dial(order);
    const said = await toldIs(d, order, what);
    if (params !== null) expect(said).toMatchObject(params);
    await toldIs(d, order, "numbers.releaseMany");
    if (params === null) expect(names(order).filter((n) => n === "leads.settle" || n === "leads.release")).toEqual([]);
    expect([dialled(order), await d.calls.findOne({ _id: refOf(order) })]).toEqual([0, null]);
  });
  test("three hundred wait at most, so that others have room", async () => {
    const waiting: ServerResponse[] = [];
    answer = (response) => waiting.push(response);
    const crowd = Array.from({ length: 310 }, () =>
      checked([check({ default_on_failure: "abort" })], { enforce_blacklist: false }),
    );
    const plain = d.order("06");
    const { taken } = await d.stage.bus.call("dialer.dialMany", { orders: [...crowd, plain] });
    expect([taken.filter(Boolean).length, taken.at(-1)]).toEqual([301, true]);
    await toldIs(d, plain, "leads.settle");
    answer = json({}, 404);
    await until("the crowd to end", () => {
      for (const response of waiting.splice(0)) response.writeHead(404).end();
      return crowd.slice(0, 300).every((order) => names(order).includes("numbers.releaseMany")) || undefined;
    });
  });
});

describe("addresses that may not be asked", () => {
  let strict: DialerStage;
  beforeAll(async () => {
    strict = await setDialerStage({ clock, env: { WEBHOOK_ALLOW_HTTP: "true" } });
  });
  afterAll(() => strict.stop());
  test("loopback, private, link-local, metadata and odd spellings, other schemes, users, ports: refused, the trap hears nothing", async () => {
    const { port } = new URL(base);
    const hosts = [
      "127.0.0.1",
      "127.1",
      "0x7f.1",
      "2130706433",
      "017700000001",
      "0",
      "[::]",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "[64:ff9b::7f00:1]",
      "localhost",
      "localhost.",
      "ip6-localhost",
      "169.254.169.254",
      "100.64.0.1",
      "10.0.0.1",
      "[fd00::1]",
      "[fe80::1]",
      "①②⑦.0.0.1",
      "{{host}}",
    ];
    const urls = [
      ...hosts.map((host) => `http://${host}:${port}/`),
      `file:///etc/passwd`,
      `gopher://127.0.0.1:${port}/`,
      `http://user:pass@example.com/`,
      "http://example.com:6379/",
      "http://example.com:22/",
    ];
    const orders = urls.map((url) =>
      strict.order("06", {
        pre_checks: [check({ url, retries: 0, default_on_failure: "abort" })],
        payload: { host: "127.0.0.1" },
      }),
    );
    for (const order of orders) await strict.dial(order);
    for (const [i, order] of orders.entries()) {
      expect([urls[i], await toldIs(strict, order, "leads.settle")]).toMatchObject([
        urls[i],
        { facts: { dropped_as: "PRECHECK_FAILED", pre_check_results: [{ status: "error", http_status: null }] } },
      ]);
    }
    expect([seen, strict.dials]).toEqual([[], []]);
  });
});
