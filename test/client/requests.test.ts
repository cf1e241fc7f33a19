import { createClient, type ClientOptions } from "../../deploy/client/client.ts";
import { ApiFailure, NoAnswer } from "../../deploy/client/failures.ts";
import { each } from "../../deploy/client/pages.ts";
import { waitBeforeRetry } from "../../deploy/client/retries.ts";
import { finished, watch } from "../../deploy/client/watch.ts";
import { aLead, answering, closedPort, type Answering, type Reply } from "./fixtures/answering-server.ts";

const PUSHED = { status: "queued", lead_call_tracker_id: "l-1", order_id: "o-1", message: "queued" };
const PUSH = { body: { request_id: "o-1", template_id: "t-1", reseller_id: "r-1", payload: {} } };
const busy = (headers: Record<string, string> = {}): Reply => ({ status: 503, body: { code: "BUSY" }, headers });

let server: Answering;
let waits: number[];
const clientFor = (replies: Reply[], more: Partial<ClientOptions> = {}) => {
  server.replies.push(...replies);
  return createClient({
    base: server.url,
    token: "t",
    chance: () => 1,
    newKey: () => `key-${server.requests.length}`,
    wait: (ms) => {
      waits.push(ms);
      return Promise.resolve();
    },
    ...more,
  });
};
beforeEach(async () => {
  waits = [];
  server = await answering();
});
afterEach(() => server.close());

describe("a request of the client", () => {
  test("carries the token, the filled path, the query and the body", async () => {
    const client = clientFor([{ body: { count: 0, leads: [], next_cursor: null } }, { status: 200, body: {} }]);
    await client.ask("GET", "/leads", { query: { status: "RETRY", limit: 5 } });
    await client.ask("GET", "/leads/{lead_id}", { path: { lead_id: "a/b" } });
    expect(server.requests).toMatchObject([
      { method: "GET", url: "/leads?status=RETRY&limit=5", headers: { authorization: "Bearer t" }, body: "" },
      { method: "GET", url: "/leads/a%2Fb" },
    ]);
  });

  test("gets its token anew for each try, where there is a way to get one", async () => {
    let made = 0;
    const client = clientFor([busy(), { body: {} }], { token: () => Promise.resolve(`t-${++made}`) });
    await client.ask("GET", "/deployment");
    expect(server.requests.map(({ headers }) => headers["authorization"])).toEqual(["Bearer t-1", "Bearer t-2"]);
  });

  test("a push that finds no room is sent again with the same Idempotency-Key, and another push has another", async () => {
    const client = clientFor([
      busy(),
      { status: 500, body: {} },
      { status: 201, body: PUSHED },
      { status: 201, body: PUSHED },
    ]);
    expect(await client.ask("POST", "/leads", PUSH)).toEqual(PUSHED);
    await client.ask("POST", "/leads", PUSH);
    expect(server.requests.map(({ headers }) => headers["idempotency-key"])).toEqual([
      "key-0",
      "key-0",
      "key-0",
      "key-3",
    ]);
  });

  test("a key that was given stays", async () => {
    const client = clientFor([{ status: 201, body: PUSHED }]);
    await client.ask("POST", "/leads", { ...PUSH, headers: { "Idempotency-Key": "mine" } });
    expect(server.requests[0]?.headers["idempotency-key"]).toBe("mine");
  });

  test("what may have been done, and has no key, is not sent again", async () => {
    const client = clientFor([busy({ "retry-after": "1" })]);
    await expect(client.ask("POST", "/merchants/{id}/pause", { path: { id: "m" }, body: {} })).rejects.toMatchObject({
      status: 503,
      code: "BUSY",
      retry_after_seconds: 1,
    });
    expect(server.requests).toHaveLength(1);
  });

  test("an allowance that is used up is waited for as long as the server says, whatever the method", async () => {
    const client = clientFor([
      { status: 429, body: { code: "RATE_LIMITED" }, headers: { "retry-after": "7" } },
      { body: { paused: null } },
    ]);
    await client.ask("POST", "/deployment/resume");
    expect(waits).toEqual([7250]);
  });

  test("gives up after its retries with the last failure", async () => {
    const client = clientFor([busy(), busy(), busy(), { status: 502, body: "<html>", headers: {} }]);
    const failure: unknown = await client.ask("GET", "/deployment").catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ApiFailure);
    expect(failure).toMatchObject({ status: 502, code: "?" });
    expect(waits).toEqual([250, 500, 1000]);
  });

  test("a refusal says what is wrong where, and is not repeated", async () => {
    const problem = {
      code: "VALIDATION_FAILED",
      title: "The request is not valid",
      detail: "1 issue",
      request_id: "r-9",
      errors: [{ path: "/payload", message: "must be object" }],
    };
    const client = clientFor([{ status: 400, body: problem }]);
    await expect(client.ask("POST", "/leads", PUSH)).rejects.toMatchObject({
      message: "400 VALIDATION_FAILED: 1 issue — /payload must be object",
      request_id: "r-9",
      errors: problem.errors,
    });
    expect(server.requests).toHaveLength(1);
  });

  test("a server that is no callagent is told apart from one that does not answer", async () => {
    const client = clientFor([{ status: 200, body: "<html>hello</html>" }], { retries: 0 });
    await expect(client.ask("GET", "/deployment")).rejects.toMatchObject({
      answered: true,
      message: expect.stringMatching(/is no callagent; the address ends with/),
    });
    const nobody = createClient({ base: `http://127.0.0.1:${await closedPort()}`, token: "secret", retries: 0 });
    const failure: unknown = await nobody.ask("GET", "/deployment").catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(NoAnswer);
    expect(failure).toMatchObject({ unsent: true, message: expect.stringMatching(/ECONNREFUSED$/) });
    expect(String(failure)).not.toContain("secret");
  });

  test("ends with its own time, and when it is called off", async () => {
    const slow = clientFor([{ never: true }], { timeout_ms: 20, retries: 0 });
    await expect(slow.ask("GET", "/deployment")).rejects.toThrow(/no answer within 0.02 s$/);
    const ended = new AbortController();
    const called = clientFor([{ never: true }], { signal: ended.signal }).ask("GET", "/deployment");
    await server.arrived(2);
    ended.abort();
    await expect(called).rejects.toMatchObject({ name: "AbortError" });
  });
});

test.each([
  ["a GET without room", new ApiFailure(503, "BUSY", ""), { repeatable: true, tries: 1, retries: 3 }, 250],
  ["its third try", new ApiFailure(503, "BUSY", ""), { repeatable: true, tries: 3, retries: 3 }, 1000],
  ["one try too many", new ApiFailure(503, "BUSY", ""), { repeatable: true, tries: 4, retries: 3 }, null],
  [
    "a wait of minutes",
    new ApiFailure(429, "X", "", { retry_after_seconds: 61 }),
    { repeatable: true, tries: 1, retries: 3 },
    null,
  ],
  ["a refusal", new ApiFailure(409, "X", ""), { repeatable: true, tries: 1, retries: 3 }, null],
  ["a POST that broke off", new NoAnswer("", null), { repeatable: false, tries: 1, retries: 3 }, null],
  [
    "a POST that was not sent",
    new NoAnswer("", null, { unsent: true }),
    { repeatable: false, tries: 1, retries: 3 },
    250,
  ],
  ["a defect of the caller", new TypeError("x"), { repeatable: true, tries: 1, retries: 3 }, null],
  ["a late try", new ApiFailure(500, "X", ""), { repeatable: true, tries: 20, retries: 20 }, 8000],
])("the wait before the next try: %s", (_, error, tried, ms) => {
  expect(waitBeforeRetry(error, tried, 1)).toBe(ms);
});

describe("lists and watches", () => {
  test("every item of a list comes once, and a page is asked for when the one before it has been read", async () => {
    const client = clientFor([
      { body: { count: 2, leads: [{ id: "1" }, { id: "2" }], next_cursor: "c1" } },
      { body: { count: 0, leads: [], next_cursor: "c2" } },
      { body: { count: 1, leads: [{ id: "3" }], next_cursor: null } },
    ]);
    const seen: string[] = [];
    for await (const { id } of each(client, "/leads", { status: "RETRY" })) {
      seen.push(id);
      if (id === "1") expect(server.requests).toHaveLength(1);
    }
    expect(seen).toEqual(["1", "2", "3"]);
    expect(server.requests.map(({ url }) => url)).toEqual([
      "/leads?limit=200&status=RETRY",
      "/leads?limit=200&status=RETRY&cursor=c1",
      "/leads?limit=200&status=RETRY&cursor=c2",
    ]);
  });

  test("a lead is given when it has changed, last when it is over", async () => {
    const at = [
      aLead("BACKLOG"),
      aLead("BACKLOG"),
      aLead("PROCESSING", { attempt_count: 1 }),
      aLead("FINISHED", { outcome: "confirmed" }),
    ];
    const client = clientFor(at.map((body) => ({ body })));
    const seen: string[] = [];
    const wait = (): Promise<void> => Promise.resolve();
    for await (const lead of watch(client, "l-1", { wait })) seen.push(lead.status);
    expect(seen).toEqual(["BACKLOG", "PROCESSING", "FINISHED"]);
    server.replies.push({ body: aLead("FINISHED", { outcome: "declined" }) });
    expect((await finished(client, "l-1", { wait })).outcome).toBe("declined");
  });
});
