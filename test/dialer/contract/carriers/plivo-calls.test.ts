import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { MongoClient, type Collection } from "mongodb";
import type { CallRow } from "../../../../local/carriers/ledger/call-rows.ts";
import {
  DEFAULT_ACCOUNT,
  DEFAULT_PLIVO_ACCOUNT,
  startCarrier,
  type Carrier,
} from "../../../../local/carriers/server.ts";
import { callSchema, type CallDoc } from "../../../../services/dialer/call/calls.model.ts";
import { createCalls } from "../../../../services/dialer/call/calls.repository.ts";
import dialer from "../../../../services/dialer/dialer.service.ts";
import type { ParamsOf } from "../../../../shared/bus/bus.ts";
import type { XmlTurnReply } from "../../../../shared/contracts/conversation.ts";
import type { DialJob } from "../../../../shared/contracts/dialer.ts";
import { openStore } from "../../../../shared/database/mongo.ts";
import { setStage, standIn, type Stage } from "../../../../local/harness/stage.ts";
import { skippingClock, untilOn } from "../../../fixtures/skipping-clock.ts";

/** The dialer's time, and the carrier's. */
const clock = skippingClock();
const until = untilOn(clock);
const HOUR_MS = 3_600_000;
const told: { what: string; params: Record<string, unknown> }[] = [];
const tell = (what: string, params: object): void => {
  told.push({ what, params: { ...params } });
};
const reply = (text: string, next: XmlTurnReply["next"]): XmlTurnReply => ({
  turn: told.length,
  say: text === "" ? [] : [{ text, interruptible: true }],
  next,
  language: "en-US",
  voice: null,
});

let carrier: Carrier;
let server: Server;
let stage: Stage;
let client: MongoClient;
let calls: Collection<CallDoc>;

const services = () => [
  dialer,
  standIn("leads", {
    extend: () => ({ done: true }),
    release: (p) => {
      tell("leads.release", p);
      return { done: true };
    },
    annotate: (p) => {
      tell("leads.annotate", p);
      return { done: true };
    },
    settle: (p) => {
      tell("leads.settle", p);
      return { done: true, status: null, outcome: null };
    },
  }),
  standIn("numbers", { keepMany: ({ lines }) => ({ kept: lines.map(() => true) }), releaseMany: () => ({}) }),
  standIn("scheduler", { grant: () => ({ granted: true, send_in_ms: 0 }), slow: () => ({}) }),
  standIn("blacklist", { check: ({ pairs }) => ({ listed: pairs.map(() => false) }) }),
  standIn("conversation", {
    prepareMany: ({ calls: some }) => ({
      results: some.map((p) => ({
        prepared: {
          media_url: `${stage.env.PUBLIC_WS_URL}/media/${p.provider}/${p.call_ref}`,
          token: "a1b2c3",
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
      return turn.heard === null && turn.digits === null
        ? reply("May I confirm your order for Monday?", { kind: "listen", seconds: 20, keys_only: false })
        : reply("Thank you, it is confirmed. Goodbye.", { kind: "hang_up" });
    },
    stop: () => ({}),
    salvage: () => ({ talk: null }),
  }),
];

let recordings = "";
beforeAll(async () => {
  recordings = await mkdtemp(join(tmpdir(), "plivo-recordings-"));
  carrier = await startCarrier({ port: 0, timeScale: 20, clock, seed: "plivo", accounts: [DEFAULT_ACCOUNT] });
  server = createServer((request, response) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const path = request.url ?? "";
      const [, , provider = "", kind = "", ref = ""] = path.split("?")[0]?.split("/") ?? [];
      const headers = Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)]));
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
    })().catch((error: unknown) => {
      tell("refused", { error });
      response.writeHead(403).end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  stage = await setStage({
    services: services(),
    clock,
    env: {
      PROVIDER_ONE: "none",
      PROVIDER_TWO: "plivo",
      PROVIDER_THREE: "none",
      // no permit is needed: one of this stage would be valid for 100 ms only
      PROVIDER_TWO_CALLS_PER_SECOND: "0",
      PLIVO_AUTH_ID: DEFAULT_PLIVO_ACCOUNT.authId,
      PLIVO_AUTH_TOKEN: DEFAULT_PLIVO_ACCOUNT.authToken,
      PLIVO_API_BASE: carrier.url,
      PUBLIC_HTTP_URL: `http://127.0.0.1:${port}`,
      PUBLIC_WS_URL: `ws://127.0.0.1:${port}`,
      SWEEP_INTERVAL_MS: "200",
      RECORDINGS_DIR: recordings,
    },
  });
  client = await MongoClient.connect(stage.uri);
  calls = client.db().collection<CallDoc>("calls");
});
afterAll(async () => {
  await client?.close();
  await stage?.stop();
  server?.closeAllConnections();
  server?.close();
  await carrier?.close();
  await rm(recordings, { recursive: true, force: true });
});
beforeEach(async () => {
  told.length = 0;
  await fetch(`${carrier.url}/faults`, { method: "DELETE" });
});

let people = 0;
const order = (ending: string): DialJob => ({
  lead_id: randomUUID(),
  claim_no: 1,
  reseller_id: "r",
  merchant_id: null,
  template_id: randomUUID(),
  template_version: 1,
  execution_mode: "TELEPHONY",
  to: `+1415777${String(people++).padStart(2, "0")}${ending}`,
  from: "+14155550999",
  number_id: randomUUID(),
  provider: "PROVIDER_TWO",
  payload: {},
  dial_until: new Date(clock.now().getTime() + HOUR_MS).toISOString(),
  record: false,
  voicemail_action: "hangup",
  enforce_blacklist: true,
  max_call_seconds: 60,
  rate_limit: null,
  pre_checks: [],
  pre_check_defers: {},
});
const dial = async (o: DialJob): Promise<DialJob> => {
  expect((await stage.bus.call("dialer.dialMany", { orders: [o] })).taken).toEqual([true]);
  return o;
};
const fault = (kind: string, o: DialJob) =>
  fetch(`${carrier.url}/faults`, { method: "POST", body: JSON.stringify({ kind, to: o.to }) });
const rows = async (o: DialJob) =>
  ((await (await fetch(`${carrier.url}/ledger/calls`)).json()) as { calls: CallRow[] }).calls.filter(
    (c) => c.to === o.to,
  );
const docOf = (o: DialJob, what: string, is: (call: CallDoc) => boolean) =>
  until(what, async () => {
    const c = await calls.findOne({ _id: `${o.lead_id}.1` });
    return c && is(c) ? c : undefined;
  });
const facts = async (o: DialJob) =>
  (
    await until(`the settling of ${o.to}`, () =>
      told.find((t) => t.what === "leads.settle" && t.params["lead_id"] === o.lead_id),
    )
  ).params["facts"];

test("a call is placed by its request, talked to in turns and closed with its price", async () => {
  const o = await dial(order("01"));
  const call = await docOf(o, "the end", (c) => c.closed_at !== undefined || c.state === "ENDED");
  const [row] = await rows(o);
  expect(call).toMatchObject({ ended: "completed", carrier_leg_id: row?.sid, holder: "services" });
  expect(call.carrier_call_id).not.toBe(row?.sid);
  expect(row?.transcript.map((l) => l.text).join(" ")).toMatch(/may i confirm.*goodbye/is);
  const turns = told.filter((t) => t.what === "conversation.turn").map((t) => t.params);
  expect(turns.map((t) => [t["token"], t["heard"] !== null])).toEqual([
    ["a1b2c3", false],
    [null, true],
  ]);
  expect(await docOf(o, "the price", (c) => c.cost !== undefined)).toMatchObject({
    cost: 0.0085,
    cost_currency: "USD",
  });
  expect(told.filter((t) => t.what === "refused")).toEqual([]);
});

test.each([
  ["06", "busy"],
  ["15", "failed"],
  ["10", "invalid_number"],
])("%s is settled as %s", async (ending, ended) => {
  expect(await facts(await dial(order(ending)))).toMatchObject({ ended });
});

test.each(["drop_reply", "error_after_placing"])(
  "an answer that is lost (%s), and every callback: found by its numbers, one ring",
  async (lost) => {
    const o = order("06");
    await Promise.all([fault(lost, o), fault("lose_callbacks", o)]);
    await dial(o);
    expect(await facts(o)).toMatchObject({ ended: "busy", call_id: (await rows(o))[0]?.sid });
    expect(await rows(o)).toHaveLength(1);
  },
);

test("a call that is recorded by a command is told so once the talk has joined, and its recording is fetched", async () => {
  const o = await dial({ ...order("01"), record: true });
  const { recording, carrier_call_id = "" } = await docOf(o, "the recording", (c) => c.recording?.state === "stored");
  const file = await readFile(join(recordings, recording?.key ?? ""));
  expect([file.toString("latin1", 0, 4), file.length, recording?.content_type]).toEqual([
    "RIFF",
    recording?.bytes,
    "audio/wav",
  ]);
  expect(told.map((t) => t.params["recording_url"]).filter((url) => url !== undefined)).toEqual([
    expect.stringContaining(`/leads/recording/${encodeURIComponent(carrier_call_id)}`),
  ]);
});

test("a machine ends the call", async () => {
  const o = await dial(order("09"));
  expect(await docOf(o, "the end", (c) => c.state === "ENDED")).toMatchObject({ machine: "machine" });
});

test("a call that is known by its leg is not taken for another", async () => {
  const store = openStore(stage.uri);
  const repository = createCalls(store.model("calls", callSchema), () => "m");
  const o = await dial(order("06"));
  const { carrier_call_id = "", carrier_leg_id = "" } = await docOf(
    o,
    "the leg",
    (c) => c.carrier_leg_id !== undefined,
  );
  expect(await repository.knownNames("PROVIDER_TWO", [carrier_call_id, carrier_leg_id, "another"])).toEqual(
    new Set([carrier_call_id, carrier_leg_id]),
  );
  expect(await repository.knownNames("PROVIDER_ONE", [carrier_leg_id])).toEqual(new Set());
  await store.close();
});
