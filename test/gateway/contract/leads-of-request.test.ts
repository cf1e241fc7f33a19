import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { MongoClient } from "mongodb";
import leads from "../../../services/leads/leads.service.ts";
import { isRecord } from "../../../shared/json.ts";
import { fail } from "../../../shared/errors.ts";
import { until } from "../../../local/harness/stage.ts";
import { setHttpStage, type HttpStage } from "../fixtures/http-stage.ts";

/** Every lead of a request_id: the gateway reads them page by page and sends them meanwhile. */
const TEST_MS = 60_000;
const MANY = 2500;

let http: HttpStage;
let client: MongoClient;
const planted: Record<string, string[]> = {};

async function plant(request_id: string, count: number, over: object): Promise<void> {
  const docs = Array.from({ length: count }, (_, i) => ({
    _id: randomUUID(),
    reseller_id: http.reseller_id,
    merchant_id: http.merchant_id,
    template_id: randomUUID(),
    template: "t",
    request_id,
    status: "BACKLOG",
    outcome: null,
    attempt_count: 0,
    created_at: new Date(Date.UTC(2026, 0, 1) - i),
    updated_at: new Date(),
    ...over,
  }));
  await client.db().collection<{ _id: string }>("leads").insertMany(docs);
  planted[request_id] = docs.map((d) => d._id);
}

beforeAll(async () => {
  http = await setHttpStage([leads]);
  client = await MongoClient.connect(http.stage.uri);
  await plant("many", MANY, {});
  await plant("large", 300, { template: "\u0001".repeat(2000), payload: { note: "n".repeat(50_000) } });
  await plant("few", 3, {});
}, TEST_MS);
afterAll(async () => {
  await client?.close();
  await http?.stop();
});

const idsIn = (body: Record<string, unknown>): unknown[] =>
  Array.isArray(body["leads"]) ? body["leads"].map((lead: unknown) => isRecord(lead) && lead["id"]) : [];

test.each(["many", "large", "few"])(
  "%s leads of a request_id come whole, each once, the newest first",
  async (name) => {
    const answer = await http.ask("GET", `/leads/request/${name}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(Object.keys(answer.body).sort()).toEqual(["count", "leads", "request_id"]);
    expect(answer.body["request_id"]).toBe(name);
    expect(answer.body["count"]).toBe(planted[name]?.length);
    expect(idsIn(answer.body)).toEqual(planted[name]);
  },
  TEST_MS,
);

test("without compression too; HEAD sends no body", async () => {
  const plain = await http.ask("GET", "/leads/request/many", { headers: { "Accept-Encoding": "identity" } });
  expect([plain.headers.get("content-encoding"), plain.headers.get("vary")]).toEqual([null, "Accept-Encoding"]);
  expect(plain.body["count"]).toBe(MANY);
  const head = await http.ask("HEAD", "/leads/request/many");
  expect([head.status, head.text]).toEqual([200, ""]);
});

test("an asker gets the leads of its own scope; where it has none there, LEAD_NOT_FOUND", async () => {
  expect((await http.ask("GET", "/leads/request/many", { token: http.tokens.user })).body["count"]).toBe(MANY);
  const answer = await http.ask("GET", "/leads/request/none");
  expect([answer.status, answer.body["code"]]).toEqual([404, "LEAD_NOT_FOUND"]);
});

test("an asker that knows no pages, as a gateway of the version before, gets the newest thousand", async () => {
  const answer = await http.stage.bus.call("leads.byRequest", {
    by: { kind: "user", id: "u", role: "admin", reseller_id: null, merchant_id: null },
    request_id: "many",
  });
  expect(Object.keys(answer)).toEqual(["request_id", "count", "leads"]);
  expect(answer.leads.map((l) => l.id)).toEqual(planted["many"]?.slice(0, 1000));
});

describe("over leads that break off", () => {
  let scripted: HttpStage;
  beforeAll(async () => {
    scripted = await setHttpStage();
  }, TEST_MS);
  afterAll(() => scripted?.stop());
  beforeEach(() => {
    scripted.calls.length = 0;
  });

  const filler = { note: "n".repeat(100_000) };
  const page = (next_cursor: string | null) => ({ request_id: "x", count: 2, leads: [filler, filler], next_cursor });
  const asked = () => scripted.calls.filter((c) => c.action === "leads.byRequest").map((c) => c.params["cursor"]);
  /** Asks over a connection of its own. */
  async function open(encoding: string): Promise<IncomingMessage> {
    const req = request(`${scripted.base}/leads/request/x`, {
      agent: false,
      headers: { Authorization: `Bearer ${scripted.tokens.admin}`, "Accept-Encoding": encoding },
    });
    const answered = once(req, "response");
    req.end();
    const [res] = (await answered) as [IncomingMessage];
    return res;
  }

  test.each(["identity", "gzip"])(
    "a page that fails cuts the connection: no client takes a part for the whole (%s)",
    async (encoding) => {
      scripted.script["leads.byRequest"] = ({ cursor }) =>
        cursor === undefined ? page("second") : fail("STORE_UNAVAILABLE", "the database is away");
      const whole = async (): Promise<void> => {
        const res = await open(encoding);
        res.resume();
        await once(res, "end");
      };
      await expect(whole()).rejects.toMatchObject({ code: "ECONNRESET" });
      expect(asked()).toEqual([undefined, "second"]);
    },
  );

  test("a first page that fails is a problem like any other", async () => {
    scripted.script["leads.byRequest"] = () => fail("STORE_UNAVAILABLE", "the database is away");
    const answer = await scripted.ask("GET", "/leads/request/x");
    expect([answer.status, answer.body["code"]]).toEqual([503, "STORE_UNAVAILABLE"]);
  });

  test("a leads service of the version before answers once, without a cursor", async () => {
    scripted.script["leads.byRequest"] = () => ({ request_id: "x", count: 1, leads: [filler] });
    expect((await scripted.ask("GET", "/leads/request/x")).body).toEqual({
      request_id: "x",
      count: 1,
      leads: [filler],
    });
    expect(asked()).toHaveLength(1);
  });

  test("a client that goes, or does not read, is sent no more pages than its connection holds", async () => {
    let turn = 0;
    scripted.script["leads.byRequest"] = () => page(`page-${++turn}`);
    const service = scripted.gateway.getLocalService("gateway") as unknown as {
      server: { getConnections(cb: (e: unknown, n: number) => void): void };
    };
    const connections = () => new Promise<number>((resolve) => service.server.getConnections((_, n) => resolve(n)));
    const idle = await connections();
    const res = await open("identity");
    res.on("error", () => undefined);
    let before = -1;
    const stands = (): true | undefined => {
      const still = before === turn && turn > 0 ? true : undefined;
      before = turn;
      return still;
    };
    await until("the pages to stand still", stands, undefined, 300);
    expect(turn).toBeLessThan(200);
    res.destroy();
    await until("the connection to be gone", async () => ((await connections()) <= idle ? true : undefined));
    expect(turn - before).toBeLessThan(3);
  });
});
