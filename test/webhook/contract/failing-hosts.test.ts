import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { MongoClient, type Db } from "mongodb";
import webhook from "../../../services/webhook/webhook.service.ts";
import { MAX_PER_RECEIVER } from "../../../services/webhook/hosts/host-slots.ts";
import { setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { needing } from "../../fixtures/database-abilities.ts";

/** Hosts that hang, fail and recover, beside others: the service on real sockets, its clock moved by hand. */
const R = "11111111-1111-4111-8111-111111111111";
const clock = virtualClock(new Date());
const servers: Server[] = [];
let stage: Stage;
let client: MongoClient;
let db: Db;

async function host(answer: (response: ServerResponse, request: IncomingMessage, body: string) => void) {
  const requests: { id: string; timestamp: number; body: string }[] = [];
  let [under, most] = [0, 0];
  const server = createServer((request, response) => {
    let body = "";
    most = Math.max(most, ++under);
    response.on("close", () => {
      under--;
    });
    request
      .on("data", (d) => {
        body += String(d);
      })
      .on("end", () => {
        requests.push({
          id: String(request.headers["webhook-id"]),
          timestamp: Number(request.headers["webhook-timestamp"]),
          body,
        });
        answer(response, request, body);
      });
  });
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, requests, most: () => most };
}
const well = () =>
  host((response) => {
    response.writeHead(204).end();
  });

beforeAll(async () => {
  stage = await setStage({
    clock,
    random: () => 0.5,
    env: { WEBHOOK_ALLOW_HTTP: "true", WEBHOOK_ALLOW_PRIVATE: "true" },
    services: [webhook, standIn("merchants", {}), standIn("auth", {})],
  });
  client = await MongoClient.connect(stage.uri);
  db = client.db();
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await client.close();
  await stage.stop();
});

let counter = 0;
const newId = (): string => `00000000-0000-4000-8000-${String(++counter).padStart(12, "0")}`;
const report = (url: string, lead_id = newId()) => ({
  lead_id,
  reseller_id: R,
  merchant_id: null,
  url,
  occurred_at: clock.now().toISOString(),
  data: { order_id: lead_id },
});
const delivery = async (lead_id: string) => (await stage.bus.call("webhook.deliveries", { lead_id })).deliveries[0]!;
const deliveries = () =>
  db.collection<{ _id: string; host: string; state: string; try_count: number; next_try_at?: Date }>("deliveries");
const hostOf = (url: string): string => new URL(url).host;
/** Hands over `count` reports for a host. */
async function enqueue(url: string, count: number): Promise<string[]> {
  const reports = Array.from({ length: count }, () => report(url));
  for (let from = 0; from < count; from += 100)
    await stage.bus.call("webhook.enqueueMany", { reports: reports.slice(from, from + 100) });
  return reports.map((r) => r.lead_id);
}
/** Longest pause of the delivery loop between two passes. */
const PASS_EVERY_MS = 1000;
/** Time moves on by this. */
const STEP_MS = 100;
/** Waits for what needs no time: the loop is nudged. The clock stands, so that on a slow database no request's time runs out. */
const reached = (what: string, ask: () => boolean) => until(what, () => ask() || undefined);
/** Waits for what a later pass does. Time moves on only while the loop waits for it: a slow database makes a pass long, not a request late. */
const reachedInTime = (what: string, ask: () => boolean | Promise<boolean>) =>
  until(what, async () => {
    if (await ask()) return true;
    if (clock.nextWaitMs() <= PASS_EVERY_MS) await clock.advance(STEP_MS);
    return undefined;
  });
/** Waits until the loop has ended its pass, and every try of a delivery to this host is written down: failed probes are not listed. */
const atRest = (url: string) =>
  until(
    "the deliveries to rest",
    async () =>
      (clock.nextWaitMs() <= PASS_EVERY_MS &&
        (await deliveries().countDocuments({
          host: hostOf(url),
          state: "pending",
          $expr: { $ne: [{ $size: "$tries" }, { $subtract: ["$try_count", { $ifNull: ["$tries_before", 0] }] }] },
        })) === 0) ||
      undefined,
  );

test("reports handed over together go out once each, also those handed over twice and those beyond the host's ten", async () => {
  const sink = await well();
  const ids = await enqueue(sink.url, 60);
  const again = await stage.bus.call("webhook.enqueueMany", {
    reports: [report(sink.url, ids[0]), report(sink.url, ids[1]), report(sink.url, ids[0])],
  });
  expect(again.delivery_ids).toEqual([ids[0], ids[1], ids[0]].map((id) => `msg_${id}`));
  await reached("all of them", () => sink.requests.length >= 60);
  await until(
    "all to be marked",
    async () =>
      (await deliveries().countDocuments({ host: hostOf(sink.url), state: "delivered", try_count: 1 })) === 60 ||
      undefined,
  );
  expect(new Set(sink.requests.map((r) => r.id)).size).toBe(60);
  expect(sink.requests).toHaveLength(60);
  expect(sink.most()).toBeLessThanOrEqual(MAX_PER_RECEIVER);
});

test("a host that hangs with hundreds due holds ten requests, and the others' reports go out meanwhile", async () => {
  const hole = await host(() => undefined);
  await enqueue(hole.url, 400);
  await reached("the hole to be full", () => hole.requests.length === MAX_PER_RECEIVER);
  const others = await Promise.all(Array.from({ length: 30 }, well));
  for (const other of others) await enqueue(other.url, 12);
  await reached("everybody else's reports", () => others.every((o) => o.requests.length === 12));
  expect(hole.requests).toHaveLength(MAX_PER_RECEIVER);
  await until(
    "the others to be marked",
    async () =>
      (await deliveries().countDocuments({ host: { $in: others.map((o) => hostOf(o.url)) }, state: "delivered" })) ===
        360 || undefined,
  );

  // After 15 s the ten are cut off; five failures in a row are enough, and the 390 others wait without a try.
  await clock.advance(15_000);
  await until(
    "the ten to be written down",
    async () =>
      (await deliveries().countDocuments({ host: hostOf(hole.url), "tries.0": { $exists: true } })) ===
        MAX_PER_RECEIVER || undefined,
  );
  await clock.advance(1000);
  await atRest(hole.url);
  expect(await deliveries().countDocuments({ host: hostOf(hole.url), try_count: 0, state: "pending" })).toBe(390);
  expect(hole.requests).toHaveLength(MAX_PER_RECEIVER);
  const [late] = await enqueue(hole.url, 1);
  expect((await delivery(late!)).host_paused_until).toBeDefined();
  await deliveries().deleteMany({ host: hostOf(hole.url) });
});

test("a host that fails five times in a row is left alone, asked by one request after each pause, and gets everything within 10 s of being well, also what has hours to wait by its plan", async () => {
  let ill = true;
  const sink = await host((response) => {
    response.writeHead(ill ? 500 : 200).end();
  });
  const ids = await enqueue(sink.url, 40);
  await reached("the first requests", () => sink.requests.length >= 5);
  await atRest(sink.url);
  const first = sink.requests.length;
  expect(first).toBeLessThanOrEqual(MAX_PER_RECEIVER + 4); // those that were under way, and what began before the fifth answer was there
  const waiting = await deliveries().countDocuments({ host: hostOf(sink.url), try_count: 0 });
  expect(waiting).toBe(40 - first);

  await clock.advance(1500);
  await atRest(sink.url);
  expect(sink.requests).toHaveLength(first);
  await clock.advance(500);
  await reachedInTime("the probe", () => sink.requests.length > first);
  await atRest(sink.url);
  expect((await delivery(ids[39]!)).host_paused_until).toBeDefined();
  await clock.advance(3000);
  await atRest(sink.url);
  expect(sink.requests).toHaveLength(first + 1);

  // what was tried six times by its plan would be tried again in hours
  const last = ids.map((id) => `msg_${id}`).slice(0, 3);
  const inHours = new Date(clock.now().getTime() + 7_200_000);
  await deliveries().updateMany({ _id: { $in: last } }, { $set: { planned_at: inHours } as object });
  const before = sink.requests.length;
  for (let s = 0; s < 60; s++) {
    await clock.advance(1000);
    await atRest(sink.url);
  }
  const probes = sink.requests.length - before;
  expect(probes).toBeGreaterThanOrEqual(6);
  expect(probes).toBeLessThanOrEqual(10);

  ill = false;
  const wellAt = clock.now().getTime();
  await reachedInTime(
    "all to be delivered",
    async () => (await deliveries().countDocuments({ host: hostOf(sink.url), state: "delivered" })) === 40,
  );
  expect(clock.now().getTime() - wellAt).toBeLessThanOrEqual(10_000);
  expect(sink.most()).toBeLessThanOrEqual(MAX_PER_RECEIVER);
  expect((await delivery(ids[39]!)).host_paused_until).toBeUndefined();
});

test("F12, K11: a report that arrived but was not marked as delivered is sent again, with the same id, the same bytes and a new timestamp", async () => {
  const sink = await well();
  const [id] = await enqueue(sink.url, 1);
  await until("the delivery", async () => (await delivery(id!)).state === "delivered" || undefined);
  // What the database holds when the process died at K11: taken, its lease running.
  await deliveries().updateOne(
    { _id: `msg_${id}` },
    { $set: { state: "pending", next_try_at: new Date(clock.now().getTime() + 20_000), tries: [] } as object },
  );
  await clock.advance(19_000);
  await until("the pass after it", () => clock.nextWaitMs() <= PASS_EVERY_MS || undefined);
  expect(sink.requests).toHaveLength(1);
  await clock.advance(2000);
  await reachedInTime("the second time", () => sink.requests.length === 2);
  const [one, other] = sink.requests;
  expect([other!.id, other!.body]).toEqual([one!.id, one!.body]);
  expect(other!.timestamp).toBeGreaterThanOrEqual(one!.timestamp + 20);
});

test("what could not be tried for a week is given up, and listed as exhausted", async () => {
  const sink = await well();
  const id = newId();
  const old = new Date(clock.now().getTime() - 8 * 86_400_000);
  await deliveries().insertOne({
    _id: `msg_${id}`,
    lead_id: id,
    reseller_id: R,
    merchant_id: null,
    url: sink.url,
    host: hostOf(sink.url),
    body: "{}",
    state: "pending",
    try_count: 0,
    next_try_at: old,
    tries: [],
    created_at: old,
  } as never);
  await clock.advance(60_000);
  await until("the end of it", async () => {
    await clock.advance(1000);
    const d = await delivery(id);
    return d.state === "exhausted" && d.tries[0]?.error?.startsWith("given up") ? d : undefined;
  });
  expect(sink.requests).toHaveLength(0);
});

needing("plans", () => {
  test("looking for due deliveries walks the index by host, whatever one host has due", async () => {
    const now = clock.now();
    const docs = Array.from({ length: 3000 }, (_, i) => ({
      _id: `x${i}`,
      lead_id: newId(),
      host: i < 2990 ? "hole.example" : `z${i}.example`,
      url: "",
      body: "",
      state: "pending",
      try_count: 0,
      next_try_at: new Date(now.getTime() + 3_600_000),
    }));
    await deliveries().insertMany(docs as never);
    const explained = await deliveries()
      .find({ host: { $gt: "hole.example" }, next_try_at: { $lte: now } })
      .sort({ host: 1, reseller_id: 1, merchant_id: 1, next_try_at: 1 })
      .limit(20)
      .explain("executionStats");
    const { totalKeysExamined } = (explained as unknown as { executionStats: { totalKeysExamined: number } })
      .executionStats;
    expect(totalKeysExamined).toBeLessThan(100);
    await deliveries().deleteMany({ _id: /^x/ } as never);
  });
});
