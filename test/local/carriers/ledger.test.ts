import { afterEach, expect, test } from "@jest/globals";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FAULT_KINDS } from "../../../local/carriers/exchange/faults.ts";
import { startCarrier } from "../../../local/carriers/server.ts";
import { account, clock, FROM, orderAgent, startBench, until, type Bench } from "./fixtures/agent.ts";

let bench: Bench | null = null;
afterEach(async () => {
  await bench?.close();
  bench = null;
});

async function open(options: Parameters<typeof startBench>[0] = {}): Promise<Bench> {
  bench = await startBench(options);
  bench.agent.script = orderAgent;
  return bench;
}

test("entries count from 1 without gaps and are read in pages", async () => {
  const b = await open();
  await b.ended(await b.call("+15556660001"));
  const all = await b.entries();
  expect(all.map((e) => e.seq)).toEqual(all.map((_, n) => n + 1));
  const kinds = all.map((e) => e.kind).filter((k) => !["callback", "relay", "fetch"].includes(k));
  expect(kinds).toEqual(["placed", "request", "status", "ring", "answer", "heard", "said", "heard", "hangup"]);
  const page = (await (await fetch(`${b.carrier.url}/ledger?since=2&limit=3`)).json()) as {
    entries: { seq: number }[];
    next: number;
  };
  expect(page.entries.map((e) => e.seq)).toEqual([3, 4, 5]);
  expect(page.next).toBe(5);
  expect(await (await fetch(`${b.carrier.url}/ledger?since=99999`)).json()).toEqual({ entries: [], next: 99_999 });
});

test("the stream sends what is there and what comes", async () => {
  const b = await open();
  await b.ended(await b.call("+15556660006"));
  const stream = await fetch(`${b.carrier.url}/ledger/stream?since=1`);
  const reader = stream.body!.getReader();
  let text = "";
  const read = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(text)) text += Buffer.from((await reader.read()).value!).toString();
  };
  await read(/event: hangup/);
  expect(text).not.toMatch(/^id: 1\n/m);
  text = "";
  const sid = await b.call("+15556660006");
  await read(new RegExp(`event: hangup\\ndata: .*${sid}`));
  await reader.cancel();
});

test("clearing forgets entries, calls and how often a number rang", async () => {
  const b = await open();
  expect((await b.ended(await b.call("+15556660008", { timeout: 5 }))).status).toBe("no-answer");
  expect((await fetch(`${b.carrier.url}/ledger`, { method: "DELETE" })).status).toBe(204);
  expect(await (await fetch(`${b.carrier.url}/ledger`)).json()).toMatchObject({ entries: [] });
  expect((await b.ended(await b.call("+15556660008", { timeout: 5 }))).status).toBe("no-answer");
});

test("a ledger file survives a restart: entries, rings, calls; a call that was live has ended", async () => {
  const folder = await mkdtemp(join(tmpdir(), "carrier-"));
  try {
    const ledgerFile = join(folder, "ledger.ndjson");
    const first = await open({ ledgerFile });
    const done = await first.call("+15556660008", { timeout: 5 });
    await first.ended(done);
    const live = await first.call("+15556660005");
    await until(async () => (await first.row(live)).answered, "the answer");
    await first.close();
    bench = null;
    const lines = (await readFile(ledgerFile, "utf8")).trim().split("\n");
    const second = await open({ ledgerFile });
    expect((await second.entries()).slice(0, lines.length)).toEqual(lines.map((line) => JSON.parse(line) as unknown));
    expect(await second.row(live)).toMatchObject({ status: "completed", ended_by: "carrier" });
    expect((await second.client.calls(done).fetch()).status).toBe("no-answer");
    expect((await second.client.calls.list({ to: "+15556660005" })).map((c) => c.sid)).toEqual([live]);
    expect(await second.ended(await second.call("+15556660008"))).toMatchObject({ answered: true });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("faults of requests: no reply, a late one, 500 after placing, 429 without placing", async () => {
  const b = await open();
  const place = (to: string): Promise<unknown> =>
    b.call(to).then(
      () => "placed",
      (error: { status?: number; code?: unknown }) => error,
    );
  const rings = async (to: string): Promise<number> => (await b.entries("placed")).filter((e) => e.to === to).length;
  for (const [kind, to] of [
    ["drop_reply", "+15557770106"],
    ["error_after_placing", "+15557770206"],
    ["rate_limit", "+15557770306"],
    ["hang_reply", "+15557770406"],
  ]) {
    expect((await b.fault({ kind, to, seconds: 0.2 })).status).toBe(201);
  }
  expect(await place("+15557770106")).toMatchObject({ code: "ECONNRESET" });
  expect(await rings("+15557770106")).toBe(1);
  expect(await place("+15557770206")).toMatchObject({ status: 500, code: 20500 });
  expect(await rings("+15557770206")).toBe(1);
  expect(await place("+15557770306")).toMatchObject({ status: 429, code: 20429 });
  expect(await rings("+15557770306")).toBe(0);
  const since = clock.monotonicMs();
  expect(await place("+15557770406")).toBe("placed");
  expect(clock.monotonicMs() - since).toBeGreaterThanOrEqual(195);
  for (const to of ["+15557770106", "+15557770206", "+15557770306", "+15557770406"])
    expect(await place(to)).toBe("placed");
});

test("queue_delay keeps a call queued", async () => {
  const b = await open();
  await b.fault({ kind: "queue_delay", seconds: 0.2 });
  const sid = await b.call("+15557770506");
  await until(async () => (await b.entries("placed", sid))[0], "the placing");
  expect(await b.client.calls(sid).fetch()).toMatchObject({ status: "queued", startTime: null });
  await b.ended(sid);
  const [placed, status] = [(await b.entries("placed", sid))[0]!, (await b.entries("status", sid))[0]!];
  expect(Date.parse(status.at) - Date.parse(placed.at)).toBeGreaterThanOrEqual(190);
});

test("faults are listed, counted down, deleted, and a bad one is explained", async () => {
  const b = await open();
  const faults = async (): Promise<unknown[]> =>
    ((await (await fetch(`${b.carrier.url}/faults`)).json()) as { faults: unknown[] }).faults;
  await b.fault({ kind: "rate_limit", to: "+1 555 06", times: 2 });
  expect(await faults()).toMatchObject([{ kind: "rate_limit", to: "155506", times: 2, seconds: 1 }]);
  await expect(b.call("+155506")).rejects.toMatchObject({ code: 20429 });
  expect(await faults()).toMatchObject([{ times: 1 }]);
  expect((await fetch(`${b.carrier.url}/faults`, { method: "DELETE" })).status).toBe(204);
  expect(await faults()).toEqual([]);
  for (const bad of [
    { kind: "sing" },
    { kind: "drop_reply", times: 0 },
    { kind: "drop_reply", to: "x" },
    { kind: "drop_reply", seconds: -1 },
    [],
  ]) {
    const response = await b.fault(bad);
    expect(response.status).toBe(400);
    expect(((await response.json()) as { message: string }).message.length).toBeGreaterThan(10);
  }
  expect(((await (await b.fault({ kind: "sing" })).json()) as { message: string }).message).toContain(
    FAULT_KINDS.join(", "),
  );
});

test("the time scale divides simulated time", async () => {
  const b = await open({ timeScale: 50 });
  const sid = await b.call("+15556661107", { timeout: 5 }); // rings 5 s and Twilio's buffer of 5 s
  await b.ended(sid);
  const ring = (await b.entries("ring", sid))[0]!;
  const hangup = (await b.entries("hangup", sid))[0]!;
  const ms = Date.parse(hangup.at) - Date.parse(ring.at);
  expect(ms).toBeGreaterThanOrEqual(195);
  expect(ms).toBeLessThanOrEqual(205);
});

test("time is made faster while a phone rings, and what is waited for goes on at the new pace", async () => {
  const b = await open({ timeScale: 1 });
  const setTime = (body: object): Promise<Response> =>
    fetch(`${b.carrier.url}/time`, { method: "PUT", body: JSON.stringify(body) });
  const sid = await b.call("+15556661107", { timeout: 60 });
  const refused = await Promise.all([{}, { scale: 0 }, { scale: "20" }, { scale: 20_000 }].map(setTime));
  expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
  expect(await (await setTime({ scale: 1000 })).json()).toEqual({ scale: 1000 });
  await b.ended(sid);
  expect((await b.entries("hangup", sid))[0]).toMatchObject({ by: "timeout" });
});

test("three hundred simultaneous calls are led at once, and none is lost", async () => {
  const b = await open({ timeScale: 100 });
  const live = async (): Promise<number> =>
    ((await (await fetch(`${b.carrier.url}/health`)).json()) as { live_calls: number }).live_calls;
  const base = `${b.carrier.url}/2010-04-01/Accounts/${account.sid}/Calls`;
  const post = async (path: string, form: Record<string, string>): Promise<string> => {
    const authorization = `Basic ${Buffer.from(`${account.sid}:${account.authToken}`).toString("base64")}`;
    const response = await fetch(`${base}${path}.json`, {
      method: "POST",
      headers: { authorization },
      body: new URLSearchParams(form),
    });
    return ((await response.json()) as { sid: string }).sid;
  };
  const twiml = `<Response><Connect><ConversationRelay url="${b.agent.ws}/relay"/></Connect></Response>`;
  const placed = await Promise.all(
    Array.from({ length: 300 }, (_, n) =>
      post("", { To: `+15558${String(n).padStart(4, "0")}05`, From: FROM, Twiml: twiml }),
    ),
  );
  expect(new Set(placed).size).toBe(300);
  await until(async () => (await b.entries("heard")).length === 300, "all three hundred to hear the agent");
  expect(await live()).toBe(300);
  await Promise.all(placed.map((sid) => post(`/${sid}`, { Status: "completed" })));
  expect(await live()).toBe(0);
  const { calls } = (await (await fetch(`${b.carrier.url}/ledger/calls`)).json()) as {
    calls: { sid: string; ended_by: string; rings: number }[];
  };
  expect(new Set(calls.map((c) => c.sid))).toEqual(new Set(placed));
  for (const call of calls) expect(call).toMatchObject({ ended_by: "api", rings: 1, status: "completed" });
});

test("closing in mid-call leaves no timer, socket or request behind", async () => {
  const b = await open({ timeScale: 1 });
  await b.fault({ kind: "hang_reply", seconds: 600, to: "05" });
  void b.call("+15556660005").catch(() => undefined);
  await b.call("+15556660007");
  expect(clock.nextWaitMs()).toBeLessThan(Infinity);
  await b.close();
  bench = null;
  expect(clock.nextWaitMs()).toBe(Infinity);
});

test("a taken port is EADDRINUSE, a bad time scale a RangeError", async () => {
  const b = await open();
  const options = { port: Number(new URL(b.carrier.url).port), timeScale: 1, seed: "x", accounts: [account] };
  await expect(startCarrier(options)).rejects.toMatchObject({ code: "EADDRINUSE" });
  await expect(startCarrier({ ...options, port: 0, timeScale: 0 })).rejects.toThrow(RangeError);
  expect(FROM).toMatch(/^\+/);
});
