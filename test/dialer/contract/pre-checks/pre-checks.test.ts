import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { plusSeconds } from "../../../../shared/time/clock.ts";
import type { DialJob } from "../../../../shared/contracts/dialer.ts";
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
const told = (order: DialJob, what: string) => d.toldOf(order).find((t) => t.what === what)?.params;
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
/** Retries pause by the clock, so it has to move. */
const moving = () => clock.advance(300);

describe("a pre-check with secrets", () => {
  const headers = { authorization: "Bearer {{secrets.CRM}}" };
  test("sends them, and nobody else is told: not the lead, the conversation or the call's record", async () => {
    d.script.secrets = { CRM: "CANARY-CRM-KEY" };
    answer = json({ ok: true });
    const order = checked([check({ headers, method: "POST", body: { key: "{{secrets.CRM}}" } })]);
    await dial(order);
    await toldIs(d, order, "leads.settle");
    expect([seen[0]?.headers.authorization, seen[0]?.body]).toEqual([
      "Bearer CANARY-CRM-KEY",
      '{"key":"CANARY-CRM-KEY"}',
    ]);
    const call = await d.calls.findOne({ _id: refOf(order) });
    expect(JSON.stringify([d.toldOf(order), call])).not.toContain("CANARY");
  });
  test("is not asked without one that is not there", async () => {
    const order = checked([check({ headers, default_on_failure: "abort" })]);
    await dial(order);
    await toldIs(d, order, "leads.settle");
    expect([seen, dialled(order)]).toEqual([[], 0]);
    expect(JSON.stringify(told(order, "leads.settle"))).toContain("there is no secret of the name CRM");
  });
});

describe("a pre-check that passes", () => {
  test("is asked as configured; what it exports joins the payload of the talk, and its result is kept before the phone rings", async () => {
    answer = json({ data: { open: true, day: "Friday" } });
    const order = checked(
      [
        check({
          url: `${base}/orders/{{order_id}}`,
          method: "POST",
          headers: { "X-Api-Key": "s3cret-{{lead_id}}" },
          body: { name: "{{name}}" },
          pass_when: { path: "data.open", operator: "equals", value: true },
          export: { day: "data.day" },
        }),
        check({ name: "off", enabled: false }),
        check({ name: "second", url: `${base}/days/{{day}}` }),
      ],
      { payload: { name: "Ada", order_id: "A/17" } },
    );
    await dial(order);
    await toldIs(d, order, "leads.settle");
    expect(seen.map(({ method, url, body }) => [method, url, body])).toEqual([
      ["POST", "/orders/A%2F17", '{"name":"Ada"}'],
      ["GET", "/days/Friday", ""],
    ]);
    expect(seen[0]?.headers).toMatchObject({
      "x-api-key": `s3cret-${order.lead_id}`,
      "content-type": "application/json",
      accept: "application/json",
    });
    expect(told(order, "conversation.prepareMany")).toMatchObject({
      payload: { name: "Ada", order_id: "A/17", day: "Friday" },
    });
    expect(told(order, "leads.annotate")).toMatchObject({
      claim_no: 1,
      exported: { day: "Friday" },
      pre_check_results: [
        {
          name: "stock",
          status: "passed",
          http_status: 200,
          exported: { day: "Friday" },
          detail: null,
          attempt: 1,
          at: expect.any(String),
          duration_ms: expect.any(Number),
        },
        { name: "off", status: "skipped", http_status: null },
        { name: "second", status: "passed", exported: {} },
      ],
    });
    expect(names(order).filter((n) => n === "blacklist.check")).toHaveLength(2); // strangers were waited for
    const kept = JSON.stringify(await d.calls.findOne({ _id: refOf(order) }));
    expect([dialled(order), kept.includes("s3cret"), JSON.stringify(d.toldOf(order)).includes("s3cret")]).toEqual([
      1,
      false,
      false,
    ]);
  });
  test("a server that stumbles is asked once more", async () => {
    answer = (response, one) => (seen.length === 1 ? json({}, 503) : json({ ok: 1 }))(response, one);
    const order = checked([check()]);
    await dial(order);
    await toldIs(d, order, "leads.settle", moving);
    expect([seen.length, dialled(order)]).toEqual([2, 1]);
  });
});

describe("a pre-check that does not pass", () => {
  const never: Answer = () => undefined;
  test("says no: the lead ends PRECHECK_FAILED, nothing is dialled, later checks are not asked", async () => {
    answer = json({ open: false });
    const order = checked([
      check({ pass_when: { path: "open", operator: "equals", value: true }, default_on_failure: "proceed" }),
      check({ name: "second" }),
    ]);
    await dial(order);
    expect(await toldIs(d, order, "leads.settle")).toMatchObject({
      facts: {
        ended: "not_dialled",
        dropped_as: "PRECHECK_FAILED",
        error: { code: "PRECHECK_FAILED", pre_check: "stock" },
        pre_check_results: [{ name: "stock", status: "failed", http_status: 200 }],
      },
    });
    await toldIs(d, order, "numbers.releaseMany");
    expect([
      seen.length,
      dialled(order),
      names(order).includes("conversation.prepareMany"),
      names(order).includes("leads.annotate"),
    ]).toEqual([1, 0, false, false]);
  });

  const faults: [string, Answer, number | null, string][] = [
    ["HTTP 500", json({}, 500), 500, "it was answered HTTP 500"],
    [
      "a redirect, which is not followed",
      (r) => r.writeHead(302, { location: `${base}/elsewhere` }).end(),
      302,
      "it was answered HTTP 302",
    ],
    ["no JSON", (r) => r.writeHead(200).end("<html>"), 200, "the answer is no JSON"],
    [
      "an endless answer",
      (r) => {
        r.writeHead(200);
        const more = (): void => {
          if (!r.destroyed) r.write("x".repeat(20_000), () => setImmediate(more));
        };
        more();
      },
      null,
      "the answer is larger than 65536 bytes",
    ],
    ["a cut connection", (r) => r.destroy(), null, "the request failed"],
  ];
  test.each(faults)("%s is an error: default_on_failure decides", async (_name, said, http_status, detail) => {
    answer = said;
    const order = checked([check({ export: { a: "a" }, default_on_failure: "abort", retries: 0 })]);
    await dial(order);
    expect(await toldIs(d, order, "leads.settle")).toMatchObject({
      facts: {
        dropped_as: "PRECHECK_FAILED",
        pre_check_results: [{ status: "error", http_status, detail: expect.stringContaining(detail) }],
      },
    });
    expect([dialled(order), seen.map((s) => s.url)]).toEqual([0, ["/stock"]]);
  });
  test("no answer in time, tried as often as configured; the lease is kept alive meanwhile; proceed dials all the same", async () => {
    answer = never;
    const order = checked([check({ timeout_ms: 9000, retries: 2, default_on_failure: "proceed" })]);
    await dial(order);
    await toldIs(d, order, "leads.settle", moving);
    expect([seen.length, dialled(order)]).toEqual([3, 1]);
    expect(names(order).filter((n) => n === "leads.extend").length).toBeGreaterThanOrEqual(2);
    expect(told(order, "leads.annotate")).toMatchObject({
      pre_check_results: [{ status: "error", http_status: null, detail: "no answer within 9000 ms" }],
      exported: {},
    });
  });
  test("put off: given back with what was found out, as often as configured, then PRECHECK_FAILED", async () => {
    answer = json({}, 404);
    const [first, last] = [0, 2].map((n) =>
      checked([check({ default_on_failure: "defer", defer_seconds: 90, max_defers: 2 })], {
        pre_check_defers: { stock: n },
      }),
    ) as [DialJob, DialJob];
    await dial(first);
    expect(await toldIs(d, first, "leads.release")).toMatchObject({
      due_at: plusSeconds(clock.now(), 90).toISOString(),
      pre_check: { name: "stock", results: [{ status: "error", http_status: 404 }] },
    });
    await dial(last);
    expect(await toldIs(d, last, "leads.settle")).toMatchObject({ facts: { dropped_as: "PRECHECK_FAILED" } });
    await toldIs(d, last, "numbers.releaseMany");
    expect([dialled(first), dialled(last)]).toEqual([0, 0]);
  });
  test("a check whose name every object knows has put nothing off yet", async () => {
    answer = json({}, 404);
    const order = checked([check({ name: "constructor", default_on_failure: "defer", max_defers: 1 })], {
      pre_check_defers: {},
    });
    await dial(order);
    expect(await toldIs(d, order, "leads.release")).toMatchObject({ pre_check: { name: "constructor" } });
  });
  test("all of them together have two minutes", async () => {
    answer = never;
    const order = checked(
      Array.from({ length: 6 }, (_v, i) =>
        check({ name: `c${i}`, timeout_ms: 30_000, retries: 1, default_on_failure: "proceed" }),
      ),
    );
    const from = clock.monotonicMs();
    await dial(order);
    await toldIs(d, order, "leads.settle", () => clock.advance(2000));
    expect(clock.monotonicMs() - from).toBeLessThan(160_000);
    expect(dialled(order)).toBe(1);
  });
});
