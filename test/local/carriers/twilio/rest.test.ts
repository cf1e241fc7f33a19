import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { account, clock, FROM, orderAgent, sdk, startBench, until, type Bench } from "../fixtures/agent.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench({ accounts: [account, { sid: `AC${"f".repeat(32)}`, authToken: "other:token" }] });
  bench.agent.script = orderAgent;
});
afterAll(() => bench.close());

const twiml = '<Response><Pause length="600"/></Response>';
const answered = (sid: string): Promise<unknown> =>
  until(async () => (await bench.client.calls(sid).fetch()).status === "in-progress", "the answer");

test("create gives Twilio's record, fetch follows it to its end and its price", async () => {
  const created = await bench.client.calls.create({ to: "+15551110001", from: FROM, twiml });
  const asked_ms = clock.now().getTime();
  expect(created.sid).toMatch(/^CA[0-9a-f]{32}$/);
  expect(created).toMatchObject({
    status: "queued",
    to: "+15551110001",
    from: FROM,
    direction: "outbound-api",
    accountSid: account.sid,
    price: null,
    endTime: null,
    duration: null,
    apiVersion: "2010-04-01",
  });
  expect(created.dateCreated).toBeInstanceOf(Date);
  const created_ms = created.dateCreated.getTime(); // in whole seconds
  expect(created_ms).toBeGreaterThan(asked_ms - 1_000);
  expect(created_ms).toBeLessThanOrEqual(clock.now().getTime());
  await answered(created.sid);
  const updated = await bench.client.calls(created.sid).update({ status: "completed" });
  expect(updated.status).toBe("completed");
  const fetched = await bench.client.calls(created.sid).fetch();
  expect(fetched).toMatchObject({ status: "completed", priceUnit: "USD" });
  expect(Number(fetched.duration)).toBeGreaterThanOrEqual(1);
  expect(Number(fetched.price)).toBeLessThan(0);
  expect(fetched.endTime.getTime()).toBeGreaterThanOrEqual(fetched.startTime.getTime());
  await expect(bench.client.calls(created.sid).update({ status: "completed" })).rejects.toMatchObject({
    status: 400,
    code: 21220,
  });
});

test("the raw record has Twilio's fields and dates", async () => {
  const { sid } = await bench.client.calls.create({ to: "+15551110006", from: FROM, twiml });
  const raw = (await (
    await fetch(`${bench.carrier.url}/2010-04-01/Accounts/${account.sid}/Calls/${sid}.json`, {
      headers: { authorization: `Basic ${Buffer.from(`${account.sid}:${account.authToken}`).toString("base64")}` },
    })
  ).json()) as Record<string, unknown>;
  expect(raw["date_created"]).toMatch(
    /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \+0000$/,
  );
  expect(raw["uri"]).toBe(`/2010-04-01/Accounts/${account.sid}/Calls/${sid}.json`);
  expect(raw["subresource_uris"]).toMatchObject({
    recordings: `/2010-04-01/Accounts/${account.sid}/Calls/${sid}/Recordings.json`,
  });
});

test("canceled stops a call that has not been answered and leaves one in progress alone", async () => {
  const ringing = await bench.client.calls.create({ to: "+15551110007", from: FROM, twiml, timeout: 600 });
  await until(async () => (await bench.client.calls(ringing.sid).fetch()).status === "ringing", "the ring");
  expect((await bench.client.calls(ringing.sid).update({ status: "canceled" })).status).toBe("canceled");
  expect(await bench.row(ringing.sid)).toMatchObject({ ended_by: "api", answered: false });
  const talking = await bench.client.calls.create({ to: "+15551110005", from: FROM, twiml });
  await answered(talking.sid);
  expect((await bench.client.calls(talking.sid).update({ status: "canceled" })).status).toBe("in-progress");
  await bench.client.calls(talking.sid).update({ status: "completed" });
});

test("a live call can be sent to other TwiML; one that is not live cannot", async () => {
  const { sid } = await bench.client.calls.create({ to: "+15551110005", from: FROM, twiml });
  await answered(sid);
  await bench.client
    .calls(sid)
    .update({ twiml: "<Response><Say>You are being transferred.</Say><Dial>+15559990001</Dial></Response>" });
  const row = await bench.ended(sid);
  expect(row.transcript.map((t) => t.text)).toContain("You are being transferred.");
  expect((await bench.entries("dial", sid))[0]).toMatchObject({ number: "+15559990001", status: "completed" });
  await expect(bench.client.calls(sid).update({ twiml })).rejects.toMatchObject({ code: 21220 });
});

test.each([
  ["a To that is no number", { to: "555" }, 21211],
  ["a From that is no number", { from: "shop" }, 21212],
  ["no document", { twiml: undefined }, 21205],
  ["a bad Url", { twiml: undefined, url: "nonsense" }, 21205],
  ["a bad StatusCallback", { statusCallback: "ftp://x" }, 21609],
  ["an unknown event", { statusCallbackEvent: ["sung"] }, 21626],
  ["TwiML over 4000 characters", { twiml: `<Response>${" ".repeat(4_000)}</Response>` }, 21624],
  ["a Timeout below 5", { timeout: 4 }, 20001],
  ["a Timeout above 600", { timeout: 601 }, 20001],
  ["an unknown MachineDetection", { machineDetection: "Maybe" }, 20001],
])("refuses %s", async (_, change, code) => {
  const params = Object.fromEntries(
    Object.entries({ to: "+15551110001", from: FROM, twiml, ...change }).filter(([, v]) => v !== undefined),
  );
  await expect(bench.client.calls.create(params as never)).rejects.toMatchObject({
    status: 400,
    code,
    moreInfo: `https://www.twilio.com/docs/errors/${code}`,
  });
});

test("a number the account does not own is refused", async () => {
  const own = await startBench({ ownNumbers: [FROM] });
  try {
    await expect(own.client.calls.create({ to: "+15551110001", from: "+15005550007", twiml })).rejects.toMatchObject({
      status: 400,
      code: 21210,
    });
    await own.client.calls.create({ to: "+15551110001", from: FROM, twiml });
  } finally {
    await own.close();
  }
});

test("a wrong token is 401 with code 20003, an unknown call or another account's is 404 with 20404", async () => {
  await expect(sdk(bench.carrier.url, account.sid, "wrong").calls.list()).rejects.toMatchObject({
    status: 401,
    code: 20003,
  });
  await expect(bench.client.calls(`CA${"0".repeat(32)}`).fetch()).rejects.toMatchObject({ status: 404, code: 20404 });
  const other = sdk(bench.carrier.url, `AC${"f".repeat(32)}`, "other:token");
  const { sid } = await bench.client.calls.create({ to: "+15551110006", from: FROM, twiml });
  await expect(other.calls(sid).fetch()).rejects.toMatchObject({ status: 404 });
  expect(await other.calls.list()).toEqual([]);
});

test("list filters by number, status and start time, and pages through everything once", async () => {
  const to = "+15552220006"; // busy: ends at once
  const before = new Date(clock.now().getTime() - 2_000);
  const placed: string[] = [];
  for (let n = 0; n < 7; n += 1) placed.push((await bench.client.calls.create({ to, from: FROM, twiml })).sid);
  await Promise.all(placed.map((sid) => bench.ended(sid)));
  const newestFirst = [...placed].reverse();
  const sidsOf = async (filter: object): Promise<string[]> => (await bench.client.calls.list(filter)).map((c) => c.sid);
  expect(await sidsOf({ to })).toEqual(newestFirst);
  expect(await sidsOf({ to, pageSize: 3 })).toEqual(newestFirst);
  expect(await sidsOf({ to, pageSize: 2, limit: 5 })).toEqual(newestFirst.slice(0, 5));
  expect(await sidsOf({ to, status: "busy", startTimeAfter: before })).toEqual(newestFirst);
  expect(await sidsOf({ to, startTimeBefore: before })).toEqual([]);
  expect(await sidsOf({ to, startTime: clock.now() })).toEqual(newestFirst);
  expect(await sidsOf({ to, status: "completed" })).toEqual([]);
  expect(await sidsOf({ to, from: "+15005550009" })).toEqual([]);
});

test("every request is in the ledger without its password", async () => {
  await expect(sdk(bench.carrier.url, account.sid, "wr0ng-secret").calls.list()).rejects.toMatchObject({ status: 401 });
  const requests = await bench.entries("request");
  expect(requests).toContainEqual(
    expect.objectContaining({ method: "GET", path: `/2010-04-01/Accounts/${account.sid}/Calls.json`, status: 401 }),
  );
  const create = requests.find((r) => r["method"] === "POST" && r["status"] === 201)!;
  expect(create["params"]).toMatchObject({ From: FROM });
  expect(JSON.stringify(requests)).not.toMatch(/wr0ng-secret|Basic /);
});
