import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import { MongoClient, type Collection } from "mongodb";
import { WebSocketServer } from "ws";
import { sign } from "../../../../local/carriers/plivo/signature.ts";
import {
  DEFAULT_ACCOUNT,
  DEFAULT_PLIVO_ACCOUNT,
  DEFAULT_TELNYX_ACCOUNT,
  startCarrier,
  type Carrier,
} from "../../../../local/carriers/server.ts";
import type { CallDoc } from "../../../../services/dialer/call/calls.model.ts";
import type { InboundCallDoc } from "../../../../services/dialer/inbound/inbound-calls.model.ts";
import dialer from "../../../../services/dialer/dialer.service.ts";
import type { ParamsOf } from "../../../../shared/bus/bus.ts";
import type { InboundPlan } from "../../../../shared/contracts/config.ts";
import type { ConfigurationRecord } from "../../../../shared/contracts/records/configuration.ts";
import type { XmlTurnReply } from "../../../../shared/contracts/conversation.ts";
import { uuidOf } from "../../../../shared/ids.ts";
import { setStage, standIn, until, type Stage } from "../../../../local/harness/stage.ts";
import { hotline } from "../../fixtures/inbound-plan.ts";

const OURS = "+14155550100";
const NUMBER = randomUUID();
const TEMPLATE = randomUUID();
const BYE: XmlTurnReply = {
  turn: 1,
  say: [{ text: "Good morning and goodbye.", interruptible: false }],
  next: { kind: "hang_up" },
  language: "en-US",
  voice: null,
};

const told: { what: string; params: Record<string, unknown> }[] = [];
const tell = (what: string, params: object): void => {
  told.push({ what, params: { ...params } });
};
/** Every request that came from a carrier, as it came. */
const received: ParamsOf<"dialer.carrierEvent">[] = [];
let plan: InboundPlan;
let carrier: Carrier;
let server: Server;
let sockets: WebSocketServer;
let stage: Stage;
let client: MongoClient;
let calls: Collection<CallDoc>;

const takes = (over: Partial<ConfigurationRecord> = {}): void => {
  plan = hotline(TEMPLATE, null, over);
};

const services = () => [
  dialer,
  standIn("leads", {
    receive: (p) => {
      tell("leads.receive", p);
      return { lead_id: p.lead_id, claim_no: 1, made: true };
    },
    extend: () => ({ done: true }),
    settle: (p) => {
      tell("leads.settle", p);
      return { done: true, status: null, outcome: null };
    },
    annotate: (p) => {
      tell("leads.annotate", p);
      return { done: true };
    },
  }),
  standIn("numbers", {
    called: () => ({ number: { id: NUMBER, reseller_id: "r1", merchant_id: null, inbound_template_id: null } }),
    releaseMany: () => ({}),
  }),
  standIn("config", { inboundFor: () => ({ plan }) }),
  standIn("merchants", { pauses: () => ({ deployment: null, merchants: [] }) }),
  standIn("blacklist", { check: ({ pairs }) => ({ listed: pairs.map(() => false) }) }),
  standIn("conversation", {
    prepareMany: ({ calls: some }) => ({
      results: some.map((p) => ({
        prepared: {
          media_url: `${stage.env.PUBLIC_WS_URL}/media/${p.provider}/${p.call_ref}`,
          token: "token",
          kind: "text" as const,
          language: "en-US",
          voice: null,
        },
        refusal: null,
      })),
    }),
    turn: async (turn) => {
      tell("conversation.turn", turn);
      if (turn.token !== null) await stage.bus.call("dialer.joined", { call_ref: turn.call_ref, node_id: "services" });
      return BYE;
    },
    stop: () => ({}),
    salvage: () => ({ talk: null }),
  }),
];

/** Our public side: callbacks go to the dialer, sockets are the talk. */
async function openDoor(): Promise<number> {
  server = createServer((request, response) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const path = request.url ?? "";
      const [, , provider = "", kind = "", ref = ""] = path.split("?")[0]?.split("/") ?? [];
      const headers = Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)]));
      try {
        const raw = {
          provider,
          kind,
          ref,
          method: request.method,
          path,
          headers,
          body: Buffer.concat(parts).toString("utf8"),
        } as ParamsOf<"dialer.carrierEvent">;
        received.push(raw);
        const answer = await stage.bus.call("dialer.carrierEvent", raw);
        response.writeHead(200, { "content-type": answer.content_type }).end(answer.body);
      } catch (error) {
        tell("refused", { path, error });
        response.writeHead(503).end();
      }
    })();
  });
  sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket, request) => {
    void (async () => {
      const call_ref = (request.url ?? "").split("/")[3] ?? "";
      await stage.bus.call("dialer.joined", { call_ref, node_id: "services" });
      socket.send(JSON.stringify({ type: "end" }));
      socket.once("close", () => {
        void stage.bus.call("dialer.hangUp", { call_ref });
      }); // as a talk does at its end
    })();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

beforeAll(async () => {
  carrier = await startCarrier({ port: 0, timeScale: 300, seed: "inbound", accounts: [DEFAULT_ACCOUNT] });
  const port = await openDoor();
  stage = await setStage({
    services: services(),
    env: {
      PROVIDER_ONE: "twilio",
      PROVIDER_TWO: "plivo",
      PROVIDER_THREE: "telnyx",
      TWILIO_ACCOUNT_SID: DEFAULT_ACCOUNT.sid,
      TWILIO_AUTH_TOKEN: DEFAULT_ACCOUNT.authToken,
      TWILIO_API_BASE: carrier.url,
      PLIVO_AUTH_ID: DEFAULT_PLIVO_ACCOUNT.authId,
      PLIVO_AUTH_TOKEN: DEFAULT_PLIVO_ACCOUNT.authToken,
      PLIVO_API_BASE: carrier.url,
      TELNYX_CONNECTION_ID: DEFAULT_TELNYX_ACCOUNT.connectionId,
      TELNYX_API_KEY: DEFAULT_TELNYX_ACCOUNT.apiKey,
      TELNYX_PUBLIC_KEY: carrier.telnyxPublicKey,
      TELNYX_API_BASE: carrier.url,
      PUBLIC_HTTP_URL: `http://127.0.0.1:${port}`,
      PUBLIC_WS_URL: `ws://127.0.0.1:${port}`,
      SWEEP_INTERVAL_MS: "200",
    },
  });
  client = await MongoClient.connect(stage.uri);
  calls = client.db().collection<CallDoc>("calls");
  const at = (provider: string, where: string): string => `http://127.0.0.1:${port}/carriers/${provider}/${where}`;
  for (const [name, url, status_url] of [
    ["twilio", at("PROVIDER_ONE", "inbound/new"), at("PROVIDER_ONE", "status/new")],
    ["plivo", at("PROVIDER_TWO", "inbound/new"), at("PROVIDER_TWO", "status/new")],
    ["telnyx", at("PROVIDER_THREE", "event/new"), at("PROVIDER_THREE", "event/new")],
  ])
    expect(
      (
        await fetch(`${carrier.url}/inbound-address`, {
          method: "POST",
          body: JSON.stringify({ carrier: name, url, status_url }),
        })
      ).status,
    ).toBe(204);
});
afterAll(async () => {
  await client?.close();
  await stage?.stop();
  for (const socket of sockets?.clients ?? []) socket.terminate();
  server?.closeAllConnections();
  server?.close();
  await carrier?.close();
});
beforeEach(() => {
  takes();
  told.length = 0;
});

test("led by documents: a webhook that comes again, to another node, gets the first document of the talk again", async () => {
  const call_id = randomUUID();
  const lead_id = uuidOf(`PROVIDER_TWO:${call_id}`);
  const from = "+14158889901";
  const long_ago = new Date(Date.now() - 60_000);
  await client.db().collection<InboundCallDoc>("inbound_calls").insertOne({
    _id: lead_id,
    provider: "PROVIDER_TWO",
    carrier_call_id: call_id,
    from,
    to: OURS,
    number_id: NUMBER,
    reseller_id: "r1",
    merchant_id: null,
    template_id: TEMPLATE,
    plan,
    created_at: long_ago,
    verdict: "ACCEPTED",
    lead_id,
    judged_at: long_ago,
    settled_at: long_ago,
  });
  await calls.insertOne({
    _id: `${lead_id}.1`,
    lead_id,
    claim_no: 1,
    state: "ANSWERED",
    rank: 3,
    created_at: long_ago,
    direction: "INBOUND",
    provider: "PROVIDER_TWO",
    carrier_call_id: call_id,
    holder: "services",
    joined_at: new Date(),
  });
  const path = "/carriers/PROVIDER_TWO/inbound/new";
  const form = new URLSearchParams({
    CallUUID: call_id,
    From: from.slice(1),
    To: OURS.slice(1),
    Direction: "inbound",
    CallStatus: "ringing",
    Event: "StartApp",
  });
  const nonce = randomUUID();
  const headers = {
    "content-type": "application/x-www-form-urlencoded",
    "x-plivo-signature-v3-nonce": nonce,
    "x-plivo-signature-v3": sign(DEFAULT_PLIVO_ACCOUNT.authToken, `${stage.env.PUBLIC_HTTP_URL}${path}`, form, nonce),
  };
  const { body } = await stage.bus.call("dialer.carrierEvent", {
    provider: "PROVIDER_TWO",
    kind: "inbound",
    ref: "new",
    method: "POST",
    path,
    headers,
    body: form.toString(),
  });
  expect(body).toContain(BYE.say[0]?.text);
  expect(told.find((t) => t.what === "conversation.turn")?.params).toMatchObject({
    call_ref: `${lead_id}.1`,
    token: null,
    follows: 0,
  });
});

test("Plivo's nonces are not remembered: whoever sends all callbacks of a past call again, in any order, changes nothing", async () => {
  received.length = 0;
  const body = JSON.stringify({ carrier: "plivo", from: "+14158889905", to: OURS });
  await fetch(`${carrier.url}/inbound`, { method: "POST", body });
  const call = await until("the call's close", () =>
    calls
      .findOne({ provider: "PROVIDER_TWO", closed_at: { $exists: true }, due_at: { $exists: false } })
      .then((c) => c ?? undefined),
  );
  const state = async () => [
    await calls.find().sort({ _id: 1 }).toArray(),
    await client.db().collection("inbound_calls").find().sort({ _id: 1 }).toArray(),
  ];
  const before = await state();
  const captured = [...received];
  expect(captured.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["inbound", "status"]));
  const requests = async () =>
    ((await (await fetch(`${carrier.url}/ledger?limit=10000`)).json()) as { entries: unknown[] }).entries.length;
  // also after a week, when the callbacks themselves are forgotten
  for (const forgotten of [false, true]) {
    if (forgotten) await client.db().collection("carrier_events").deleteMany({});
    const asked = await requests();
    told.length = 0;
    for (const raw of [...captured, ...captured.toReversed()]) await stage.bus.call("dialer.carrierEvent", raw);
    await until(
      "all to be applied",
      async () =>
        (await client.db().collection("carrier_events").countDocuments({ applied: false })) === 0 || undefined,
    );
    expect([await state(), told, await requests()]).toEqual([before, [], asked]);
  }
  expect(call.state).toBe("ENDED");
});
