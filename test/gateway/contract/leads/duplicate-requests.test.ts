import { randomUUID } from "node:crypto";
import { brokerOptions } from "../../../../local/harness/stage.ts";
import { MongoClient, type Db } from "mongodb";
import { ServiceBroker } from "moleculer";
import config from "../../../../services/config/config.service.ts";
import leads from "../../../../services/leads/leads.service.ts";
import { randomIds } from "../../../../shared/ids.ts";
import { rootLog } from "../../../../shared/process/log.ts";
import { provideDeps } from "../../../../shared/process/process-deps.ts";
import { systemClock } from "../../../../shared/time/clock.ts";
import { createdId, reminderTemplate, setHttpStage, type Answer, type HttpStage } from "../../fixtures/http-stage.ts";

/** What a configuration declares of a request_id that is pushed again (`duplicates`), with two processes of the leads service. */
let http: HttpStage;
let second: ServiceBroker;
let client: MongoClient;
let db: Db;
beforeAll(async () => {
  http = await setHttpStage([config, leads], {}, {}, {
    "blacklist.check": ({ pairs }) => ({ listed: (pairs as object[]).map(() => false) }),
  }); // prettier-ignore
  const { stage } = http;
  second = new ServiceBroker(brokerOptions({ url: "Fake", namespace: stage.broker.namespace }, "leads-2"));
  provideDeps(second, { env: stage.env, clock: systemClock, ids: randomIds, log: rootLog(stage.env), random: Math.random }); // prettier-ignore
  second.createService(leads);
  await second.start();
  await second.waitForServices(["config", "blacklist"]);
  client = await MongoClient.connect(stage.uri);
  db = client.db();
});
afterAll(async () => {
  await client.close();
  await second.stop();
  await http.stop();
});

type Duplicates = { within_hours: number; policy: string };
const WINDOW = { call_start_time: "00:00", call_end_time: "00:00", max_retry: 0, calling_provider: "PROVIDER_ONE" };
/** A template whose configuration declares this; of the reseller's own where there is no merchant. */
async function templateWith(duplicates: Duplicates | null, owner: object = { merchant_id: http.merchant_id }) {
  const template_id = await createdId(
    http,
    "/templates",
    reminderTemplate({ reseller_id: http.reseller_id, ...owner }),
  );
  const settings = {
    initial_offset: 3600,
    retry_offset: 60,
    ...WINDOW,
    ...(duplicates === null ? {} : { duplicates }),
  };
  return { template_id, configuration: await createdId(http, "/configurations", { template_id, ...settings }) };
}
const leadOf = (template_id: string, request_id: string, over: object = {}) => ({
  request_id,
  template_id,
  reseller_id: http.reseller_id,
  merchant_id: http.merchant_id,
  payload: { customer_mobile_number: "+14155550123" },
  ...over,
});
const push = (template_id: string, request_id: string, over: object = {}, key?: string): Promise<Answer> =>
  http.ask("POST", "/leads", {
    body: leadOf(template_id, request_id, over),
    headers: key === undefined ? {} : { "Idempotency-Key": key },
  });
const idOf = (answer: Answer): string => String(answer.body["lead_call_tracker_id"]);
const stored = (request_id: string): Promise<number> => db.collection("leads").countDocuments({ request_id });
const FIRST = { within_hours: 24, policy: "answer_first" };
const REFUSE = { within_hours: 24, policy: "refuse" };
const AT_ONCE = 20;

test.each<[string, Duplicates | null]>([
  ["nothing is declared", null],
  ["allow", { within_hours: 24, policy: "allow" }],
])("%s: the same request_id makes another lead each time", async (what, duplicates) => {
  const { template_id } = await templateWith(duplicates);
  const answers = [await push(template_id, what), await push(template_id, what)];
  expect(answers.map((a) => [a.status, a.body["duplicate"]])).toEqual([
    [201, undefined],
    [201, undefined],
  ]);
  expect(await stored(what)).toBe(2);
});

test("answer_first: the answer names the first lead and says so, whatever else is pushed with it", async () => {
  const { template_id } = await templateWith(FIRST);
  const first = await push(template_id, "first");
  expect(first.body).not.toHaveProperty("duplicate");
  const again = await push(template_id, "first", { payload: { customer_mobile_number: "+14155550124" } });
  expect([again.status, idOf(again), again.body["duplicate"], again.body["order_id"]]).toEqual([
    201,
    idOf(first),
    true,
    "first",
  ]);
  expect(again.headers.get("Idempotency-Replayed")).toBeNull();
  expect(await stored("first")).toBe(1);
});

test("refuse: 409 with the first lead's id", async () => {
  const { template_id } = await templateWith(REFUSE);
  const first = await push(template_id, "once");
  const again = await push(template_id, "once");
  expect([again.status, again.body["code"]]).toEqual([409, "DUPLICATE_REQUEST"]);
  expect(again.body["errors"]).toEqual([{ path: "request_id", message: `stands for the lead ${idOf(first)}` }]);
  expect(await stored("once")).toBe(1);
});

test.each([FIRST, REFUSE])(
  "of many pushes at one instant at two processes one makes a lead (%j)",
  async (duplicates) => {
    const { template_id } = await templateWith(duplicates);
    const request_id = `at once, ${duplicates.policy}`;
    await push(template_id, "warm-up");
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => push(template_id, request_id)));
    const made = answers.filter((a) => a.status === 201 && a.body["duplicate"] === undefined);
    const others = answers.filter((a) => !made.includes(a));
    expect([made.length, await stored(request_id)]).toEqual([1, 1]);
    const [lead] = made.map(idOf);
    for (const other of others)
      expect(duplicates === FIRST ? [other.status, idOf(other)] : [other.status, other.body["code"]]).toEqual(
        duplicates === FIRST ? [201, lead] : [409, "DUPLICATE_REQUEST"],
      );
  },
);

test("another template, another merchant and another request_id are other leads; so is each playground run", async () => {
  const [one, two] = [await templateWith(REFUSE), await templateWith(REFUSE)];
  const shared = await templateWith(REFUSE, {});
  const other = await createdId(http, "/merchants", {
    name: "Other",
    reseller_id: http.reseller_id,
    contact_email: "o@example.com",
  });
  const statuses = [
    await push(one.template_id, "r"),
    await push(two.template_id, "r"),
    await push(one.template_id, "s"),
    await push(shared.template_id, "r"),
    await push(shared.template_id, "r", { merchant_id: other }),
    await push(one.template_id, "r", { is_playground: true }),
    await push(one.template_id, "r", { is_playground: true }),
  ].map((a) => a.status);
  expect(statuses).toEqual([201, 201, 201, 201, 201, 201, 201]);
  expect((await push(shared.template_id, "r", { merchant_id: other })).status).toBe(409);
});

test("after the declared hours it makes a lead again, whether the database has cleared the key or not", async () => {
  const { template_id } = await templateWith({ within_hours: 2, policy: "refuse" });
  const before = Date.now();
  const lead_id = idOf(await push(template_id, "later"));
  const keys = db.collection<{ lead_id: string; expires_at: Date }>("push_keys");
  const hours = (((await keys.findOne({ lead_id }))?.expires_at.getTime() ?? 0) - before) / 3_600_000;
  expect([hours >= 2, hours < 2.1]).toEqual([true, true]);
  await keys.updateOne({ lead_id }, { $set: { expires_at: new Date(before - 1000) } });
  const answers = [await push(template_id, "later"), await push(template_id, "later")];
  expect(answers.map((a) => a.status)).toEqual([201, 409]);
  expect(await stored("later")).toBe(2);
});

test("a push that broke off before its lead was written does not stand in the way", async () => {
  const { template_id } = await templateWith(REFUSE);
  const lead_id = idOf(await push(template_id, "broken"));
  await db.collection("leads").deleteOne({ request_id: "broken" });
  const again = await push(template_id, "broken");
  expect([again.status, idOf(again)]).toEqual([201, lead_id]);
  expect((await push(template_id, "broken")).status).toBe(409);
});

test("a repeated Idempotency-Key is answered as ever; another key is another push of the request_id", async () => {
  const { template_id } = await templateWith(REFUSE);
  const key = randomUUID();
  const first = await push(template_id, "keyed", {}, key);
  const again = await push(template_id, "keyed", {}, key);
  expect([again.status, idOf(again), again.headers.get("Idempotency-Replayed")]).toEqual([201, idOf(first), "true"]);
  const other = randomUUID();
  for (const status of [409, 409]) expect((await push(template_id, "keyed", {}, other)).status).toBe(status);
});

test("rows of a bulk push are judged in the same way, those of one body too", async () => {
  const [once, first] = [await templateWith(REFUSE), await templateWith(FIRST)];
  const rows = [once, once, first, first].map(({ template_id }) => leadOf(template_id, "bulk"));
  const answer = await http.ask("POST", "/leads/bulk", { body: rows });
  const results = answer.body as unknown as Record<string, unknown>[];
  expect(results.map((r) => [r["status"], r["http_status"], r["code"], r["duplicate"]])).toEqual([
    ["queued", undefined, undefined, undefined],
    ["refused", 409, "DUPLICATE_REQUEST", undefined],
    ["queued", undefined, undefined, undefined],
    ["queued", undefined, undefined, true],
  ]);
  expect(results[3]?.["lead_call_tracker_id"]).toBe(results[2]?.["lead_call_tracker_id"]);
  expect(await stored("bulk")).toBe(2);
});

describe("the configuration's duplicates", () => {
  test.each<[string, unknown, string]>([
    ["no hours", { policy: "refuse" }, "duplicates.within_hours"],
    ["no policy", { within_hours: 1 }, "duplicates.policy"],
    ["no time at all", { within_hours: 0, policy: "refuse" }, "duplicates.within_hours"],
    ["more than a week", { within_hours: 169, policy: "refuse" }, "duplicates.within_hours"],
    ["another word", { within_hours: 1, policy: "drop" }, "duplicates.policy"],
    ["another field", { within_hours: 1, policy: "refuse", per: "number" }, "duplicates.per"],
  ])("%s: refused with its path", async (_what, duplicates, path) => {
    const { configuration } = await templateWith(null);
    const answer = await http.ask("PUT", `/configurations/${configuration}`, { body: { duplicates } });
    expect([answer.status, (answer.body["errors"] as { path: string }[])[0]?.path]).toEqual([400, path]);
  });

  test("are shown, and null takes them away", async () => {
    const { configuration } = await templateWith(REFUSE);
    const path = `/configurations/${configuration}`;
    expect((await http.ask("GET", path)).body["duplicates"]).toEqual(REFUSE);
    expect((await http.ask("PUT", path, { body: { duplicates: null } })).body["duplicates"]).toBeNull();
  });
});
