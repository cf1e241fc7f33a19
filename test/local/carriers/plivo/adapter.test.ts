import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { plivoCarrier } from "../../../../services/dialer/carriers/plivo/carrier.ts";
import type { CarrierPort, DialAnswer, DialRequest } from "../../../../services/dialer/carriers/carrier-port.ts";
import { interceptSdk, plivo, type SdkRequest } from "../../../fixtures/carriers/plivo-sdk.ts";
import { clock, until } from "../fixtures/agent.ts";
import { account, startPlivoBench, type PlivoBench } from "../fixtures/plivo-agent.ts";

const REF = "7a1c1a2e-0000-4000-8000-000000000001.1";
const request = (to: string, base: string, over: Partial<DialRequest> = {}): DialRequest => ({
  call_ref: REF,
  to,
  from: "+15005550006",
  ring_seconds: 20,
  talk_seconds: 630,
  media: { kind: "text", url: "wss://x.example/t", token: "a1b2", language: "en-US", voice: null },
  record: false,
  await_beep: false,
  callback_base: base,
  ...over,
});
const adapter = (api_base: string): CarrierPort =>
  plivoCarrier({
    now: () => clock.now(),
    auth_id: account.authId,
    auth_token: account.authToken,
    api_base,
    public_http_url: "https://x.example",
    public_ws_url: "wss://x.example",
  });

describe("our requests are those of Plivo's own client", () => {
  /** What our adapter sends, noted by a server that answers everything. */
  const ours: SdkRequest[] = [];
  let server: Server;
  let origin = "";
  beforeAll(async () => {
    server = createServer((asked, response) => {
      const chunks: Buffer[] = [];
      asked.on("data", (chunk: Buffer) => chunks.push(chunk));
      asked.on("end", () => {
        ours.push({
          method: asked.method ?? "",
          url: asked.url ?? "",
          headers: asked.headers,
          data: Buffer.concat(chunks).toString(),
        });
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ request_uuid: "r", calls: [], objects: [] }));
      });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const CALL = { call_id: "request-1", leg_id: "leg-1" };
  const base = "https://x.example/carriers/PROVIDER_TWO";
  const { calls, recordings } = new plivo.Client(account.authId, account.authToken);
  const at = (kind: string): string => `${base}/${kind}/${REF}`;
  const plain = ({ method, url, headers, data }: SdkRequest): object => {
    const { pathname, searchParams } = new URL(url, "https://api.plivo.com");
    const body = typeof data === "string" && data !== "" ? (JSON.parse(data) as Record<string, unknown>) : {};
    // the SDK is told of its voice requests by this field, which it takes out on some roads only, and sends all values as they are
    const { is_voice_request: _told, ...fields } = body;
    return {
      method,
      path: pathname.replace(/\/?$/, "/"),
      query: Object.fromEntries([...searchParams].filter(([name]) => name !== "is_voice_request")),
      authorization: headers["authorization"] ?? headers["Authorization"],
      body: method === "GET" || method === "DELETE" ? {} : fields,
    };
  };

  test.each<[string, (carrier: CarrierPort) => Promise<unknown>, () => Promise<unknown>]>([
    [
      "dial",
      (c) => c.dial(request("+15551110001", base)),
      () =>
        calls.create("15005550006", "15551110001", `${at("answer")}?media=a1b2&lang=en-US`, {
          answerMethod: "POST",
          ringUrl: at("status"),
          ringMethod: "POST",
          hangupUrl: at("status"),
          hangupMethod: "POST",
          ringTimeout: 20,
          timeLimit: 630,
          machineDetection: "true",
          machineDetectionUrl: at("amd"),
          machineDetectionMethod: "POST",
        }),
    ],
    ["hang-up of a leg", (c) => c.hangUp(CALL, true), () => calls.hangup("leg-1")],
    [
      "taking a request back",
      (c) => c.hangUp({ call_id: "request-1", leg_id: null }, false),
      () => calls.cancel("request-1"),
    ],
    [
      "transfer",
      (c) => c.transfer(CALL, "+15551110002", "+15005550006", { base, call_ref: REF }),
      () =>
        calls.transfer("leg-1", {
          legs: "aleg",
          alegUrl: `${at("transfer")}?to=15551110002&from=15005550006`,
          alegMethod: "POST",
        }),
    ],
    ["keys", (c) => c.sendDtmf(CALL, "12#"), () => calls.sendDigits("leg-1", "12#")],
    [
      "recording",
      (c) => c.record(CALL, { callback_base: base, call_ref: REF, limit_seconds: 660 }),
      () =>
        calls.record("leg-1", {
          timeLimit: 660,
          fileFormat: "wav",
          recordChannelType: "stereo",
          callbackUrl: `${at("recording")}?call=request-1`,
          callbackMethod: "POST",
        }),
    ],
    [
      "a call's recordings",
      (c) => c.recordingsOf(CALL),
      () => recordings.list({ callUuid: "leg-1", limit: "20", offset: "0" }),
    ],
    ["a live call's state", (c) => c.fetch(CALL), () => calls.getLiveCall("leg-1")],
    [
      "a waiting call's state",
      (c) => c.fetch({ call_id: "request-1", leg_id: null }),
      () => calls.getQueuedCall("request-1"),
    ],
  ])("%s", async (_what, asks, sdk) => {
    ours.length = 0;
    await asks(adapter(origin));
    const { requests, undo } = interceptSdk(null, { request_uuid: "r", api_id: "a", calls: [], objects: [], meta: {} });
    await sdk().catch(() => undefined); // what it makes of the answer is its own affair
    undo();
    expect([ours.length > 0, requests.length > 0]).toEqual([true, true]);
    expect(plain(ours[0]!)).toEqual(plain(requests[0]!));
  });
});

describe("finding calls again", () => {
  let bench: PlivoBench;
  let carrier: CarrierPort;
  beforeAll(async () => {
    bench = await startPlivoBench();
    carrier = adapter(bench.carrier.url);
  });
  afterEach(() => fetch(`${bench.carrier.url}/faults`, { method: "DELETE" }));
  afterAll(() => bench.close());
  const placed = (answer: DialAnswer): string => {
    if (answer.kind !== "placed") throw new Error(answer.kind);
    return answer.call_id;
  };
  const dial = async (to: string, over: Partial<DialRequest> = {}): Promise<string> =>
    placed(await carrier.dial(request(to, bench.http, over)));
  const over = (to: string) =>
    until(async () => (await bench.entries("hangup")).find((e) => e.to === to), `the end of ${to}`);
  const holding = (): void => {
    bench.reply = () => ({ status: 200, body: '<Response><Wait length="600"/></Response>' });
  };

  test("by its request alone, through its whole life, though every callback is lost", async () => {
    holding();
    const to = "+15559990005";
    await bench.post("/faults", { kind: "lose_callbacks", to });
    await bench.post("/faults", { kind: "queue_delay", to, seconds: 0.3 });
    const call_id = await dial(to);
    const call = { call_id, leg_id: null };
    const seen = async () => (await carrier.fetch(call))?.progress.map((p) => p.type).join();
    // the request is not the leg: waiting calls are found by both lists
    expect(
      (
        await carrier.find({
          call_ref: REF,
          to,
          from: "+15005550006",
          since: new Date(clock.now().getTime() - 5000),
          until: clock.now(),
        })
      ).map((c) => [c.call_id, c.live]),
    ).toEqual([[call_id, true]]);
    await until(async () => (await seen()) === "answered", "the answer");
    expect(await carrier.fetch(call)).toMatchObject({ call_id, live: true });
    await carrier.sendDtmf(call, "1"); // the leg is looked for
    await carrier.hangUp(call, true);
    await over(to);
    expect(await carrier.fetch(call)).toMatchObject({
      call_id,
      live: false,
      progress: [
        { type: "answered", call_id },
        { type: "ended", end: "completed", call_id },
      ],
      cost: { currency: "USD" },
    });
  });
  test("one that nobody answered, too; by another process only by its numbers", async () => {
    const to = "+15559990006";
    await bench.post("/faults", { kind: "lose_callbacks", to });
    const since = clock.now();
    const call_id = await dial(to);
    await over(to);
    expect((await carrier.fetch({ call_id, leg_id: null }))?.progress).toEqual([
      expect.objectContaining({ type: "ended", end: "busy", call_id }),
    ]);
    const other = adapter(bench.carrier.url);
    expect(await other.fetch({ call_id, leg_id: null })).toBeNull();
    const found = await other.find({ call_ref: REF, to, from: "+15005550006", since, until: clock.now() });
    expect(found).toEqual([expect.objectContaining({ live: false })]);
    expect(await other.fetch({ call_id: found[0]?.call_id ?? "", leg_id: null })).toMatchObject({ live: false });
  });
  test("calls to other numbers, from other numbers and of other times are not taken for it", async () => {
    holding();
    const to = "+15559990105";
    await dial(to);
    await until(async () => (await bench.entries("status")).some((e) => e.to === to), "a time for it to be found by");
    const sought = {
      call_ref: REF,
      to,
      from: "+15005550006",
      since: new Date(clock.now().getTime() - 5000),
      until: clock.now(),
    };
    expect(await carrier.find(sought)).toHaveLength(1);
    expect(await carrier.find({ ...sought, to: "+1555999010" })).toEqual([]); // Plivo filters by the beginning of a number
    expect(await carrier.find({ ...sought, from: "+15005550007" })).toEqual([]);
    expect(await carrier.find({ ...sought, since: new Date(0), until: new Date(1000) })).toEqual([]);
  });
});
