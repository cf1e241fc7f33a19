import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import { MongoClient, type Collection } from "mongodb";
import { WebSocketServer } from "ws";
import type { CallRow } from "../../../../local/carriers/ledger/call-rows.ts";
import {
  DEFAULT_ACCOUNT,
  DEFAULT_PLIVO_ACCOUNT,
  DEFAULT_TELNYX_ACCOUNT,
  startCarrier,
  type Carrier,
} from "../../../../local/carriers/server.ts";
import type { CallDoc } from "../../../../services/dialer/call/calls.model.ts";
import dialer from "../../../../services/dialer/dialer.service.ts";
import type { ParamsOf } from "../../../../shared/bus/bus.ts";
import type { InboundPlan } from "../../../../shared/contracts/config.ts";
import type { ConfigurationRecord } from "../../../../shared/contracts/records/configuration.ts";
import type { XmlTurnReply } from "../../../../shared/contracts/conversation.ts";
import { uuidOf } from "../../../../shared/ids.ts";
import { asAdmin, setStage, standIn, until, type Stage } from "../../../../local/harness/stage.ts";
import { hotline } from "../../fixtures/inbound-plan.ts";

const OURS = "+14155550100";
const ELSEWHERE = "+14155550111";
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

let people = 0;
describe.each([
  ["twilio", "PROVIDER_ONE"],
  ["plivo", "PROVIDER_TWO"],
  ["telnyx", "PROVIDER_THREE"],
] as const)("somebody calls us by %s", (name, provider) => {
  /** The call as the carrier saw it, once it is over. */
  async function called(ending: string, more: object = {}): Promise<CallRow> {
    const from = `+1415888${String(people++).padStart(2, "0")}${ending}`;
    const answer = await fetch(`${carrier.url}/inbound`, {
      method: "POST",
      body: JSON.stringify({ carrier: name, from, to: OURS, ...more }),
    });
    const { sid } = (await answer.json()) as { sid: string };
    return until(`the end of ${sid}; told ${JSON.stringify(told)}`, async () =>
      ((await (await fetch(`${carrier.url}/ledger/calls`)).json()) as { calls: CallRow[] }).calls.find(
        (c) => c.sid === sid && c.ended_at !== null,
      ),
    );
  }
  const listed = async (row: CallRow) =>
    (await stage.bus.call("dialer.inboundCalls", { by: asAdmin, limit: 500 })).inbound_calls.find(
      (c) => c.provider === provider && (c.caller_number === row.from || row.sid === c.call_id),
    );

  test("and is taken, talked to and settled", async () => {
    const row = await called("05");
    expect(row).toMatchObject({ direction: "inbound", answered: true });
    const record = await listed(row);
    expect(record).toMatchObject({
      verdict: "ACCEPTED",
      caller_number: row.from,
      called_number: OURS,
      lead_id: uuidOf(`${provider}:${record?.call_id}`),
    });
    const doc = await until("the end of the call's document", async () => {
      const c = await calls.findOne({ _id: `${record?.lead_id}.1` });
      return c?.closed_at ? c : undefined;
    });
    expect(doc).toMatchObject({
      direction: "INBOUND",
      ended: "completed",
      holder: "services",
      carrier_call_id: record?.call_id,
    });
    expect(told.filter((t) => t.what === "refused")).toEqual([]);
  });

  test("and withholds the number", async () => {
    await called("05", { withheld: true });
    expect(told.find((t) => t.what === "leads.receive")?.params).toMatchObject({ from: null, to: OURS });
  });

  test("and is rejected without a word", async () => {
    takes({ enable_inbound: false });
    const row = await called("05");
    expect(row).toMatchObject({ answered: false });
    expect(await listed(row)).toMatchObject({ verdict: "REJECTED", reason: "inbound_disabled", lead_id: null });
  });

  test("and hears why not", async () => {
    takes({ enable_inbound: false, inbound_block_message: "We are closed." });
    const row = await called("05");
    expect(row.transcript.filter((t) => t.who === "agent").map((t) => t.text)).toEqual(["We are closed."]);
  });

  test("and hears nothing of the markup of why not", async () => {
    takes({
      enable_inbound: false,
      inbound_block_message: "**We are closed.** 🙂\u0000 See [our page](https://x.example).",
    });
    const row = await called("05");
    expect(row.transcript.filter((t) => t.who === "agent").map((t) => t.text)).toEqual([
      "We are closed. See our page.",
    ]);
  });

  test("and hears why before it is handed over", async () => {
    takes({
      enable_inbound: false,
      inbound_block_action: "REDIRECT",
      inbound_redirect_number: ELSEWHERE,
      inbound_block_message: "We are closed.",
    });
    const row = await called("05");
    expect(row.transcript.filter((t) => t.who === "agent").map((t) => t.text)).toEqual(["We are closed."]);
    expect(await listed(row)).toMatchObject({ verdict: "REDIRECTED" });
    const { entries } = (await (await fetch(`${carrier.url}/ledger?limit=10000`)).json()) as {
      entries: Record<string, unknown>[];
    };
    expect(entries.find((e) => e["kind"] === "dial" && e["call_sid"] === row.sid)).toMatchObject({ number: ELSEWHERE });
  });
});
