import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import { MongoClient, type Collection } from "mongodb";
import { sign } from "../../../local/carriers/plivo/signature.ts";
import type { CallDoc } from "../../../services/dialer/call/calls.model.ts";
import type { CarrierEventDoc } from "../../../services/dialer/callbacks/carrier-events.model.ts";
import dialer from "../../../services/dialer/dialer.service.ts";
import { turnAddress } from "../../../services/dialer/media/document-turn.ts";
import type { XmlTurn, XmlTurnReply } from "../../../shared/contracts/conversation.ts";
import { fail } from "../../../shared/errors.ts";
import { callRef } from "../../../shared/ids.ts";
import { setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";

const AUTH = { PLIVO_AUTH_ID: "MATURNS0000000000000", PLIVO_AUTH_TOKEN: "turns-secret" };
const LISTEN: XmlTurnReply = {
  turn: 3,
  say: [{ text: "Do you confirm?", interruptible: true }],
  next: { kind: "listen", seconds: 8, keys_only: false },
  language: "en-US",
  voice: null,
};
const NOBODY = "<Hangup/>";

let stage: Stage;
let client: MongoClient;
let calls: Collection<CallDoc>;
let events: Collection<CarrierEventDoc>;
const asked: XmlTurn[] = [];
/** Commands that reached the carrier. */
const commands: string[] = [];
let api: Server;
/** Whether the node of the talk says that it has it, and how often it was asked. */
let alive: boolean | Promise<boolean> = true;
let askedAlive = 0;
let answer: (turn: XmlTurn) => XmlTurnReply | Promise<XmlTurnReply> = () => LISTEN;

beforeAll(async () => {
  api = createServer((request, response) => {
    let body = "";
    request.on("data", (piece: Buffer) => {
      body += piece.toString();
    });
    request.on("end", () => {
      commands.push(`${request.method} ${request.url} ${body}`);
      response.writeHead(202, { "content-type": "application/json" }).end('{"message":"digits sent"}');
    });
  });
  await new Promise<void>((resolve) => {
    api.listen(0, "127.0.0.1", resolve);
  });
  const address = api.address();
  stage = await setStage({
    services: [
      dialer,
      standIn("conversation", {
        turn: (turn) => {
          asked.push(turn);
          return answer(turn);
        },
        stop: () => ({}),
        alive: async () => {
          askedAlive++;
          return { alive: await alive };
        },
      }),
      standIn("leads", { extend: () => ({ done: true }) }),
    ],
    env: {
      ...AUTH,
      PLIVO_API_BASE: `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`,
      PROVIDER_ONE: "none",
      PROVIDER_TWO: "plivo",
      PUBLIC_HTTP_URL: "http://calls.example",
      SWEEP_INTERVAL_MS: "60000",
    },
  });
  client = await MongoClient.connect(stage.uri);
  calls = client.db().collection<CallDoc>("calls");
  events = client.db().collection<CarrierEventDoc>("carrier_events");
});
afterAll(async () => {
  await client?.close();
  await stage?.stop();
  api?.closeAllConnections();
  api?.close();
}, 30_000);
beforeEach(() => {
  asked.length = 0;
  commands.length = 0;
  alive = true;
  askedAlive = 0;
  answer = () => LISTEN;
});

/** A call that rings at Plivo; `holder`: the node that leads its talk. */
async function ringing(over: Partial<CallDoc> = {}): Promise<{ ref: string; request: string }> {
  const lead_id = randomUUID();
  const request = randomUUID();
  const ref = callRef(lead_id, 1);
  await calls.insertOne({
    _id: ref,
    lead_id,
    claim_no: 1,
    state: "RINGING",
    rank: 2,
    created_at: new Date(),
    provider: "PROVIDER_TWO",
    carrier_call_id: request,
    ...over,
  });
  return { ref, request };
}

/** A signed callback to the dialler; gives the document. */
async function callback(path: string, fields: Record<string, string>, token = AUTH.PLIVO_AUTH_TOKEN): Promise<string> {
  const [, , , kind = "", ref = ""] = path.split("?")[0]?.split("/") ?? [];
  const form = new URLSearchParams(fields);
  const nonce = randomUUID();
  const headers = {
    "content-type": "application/x-www-form-urlencoded",
    "x-plivo-signature-v3-nonce": nonce,
    "x-plivo-signature-v3": sign(token, stage.env.PUBLIC_HTTP_URL + path, form, nonce),
  };
  return (
    await stage.bus.call("dialer.carrierEvent", {
      provider: "PROVIDER_TWO",
      kind,
      ref,
      method: "POST",
      path,
      headers,
      body: form.toString(),
    })
  ).body;
}
const fieldsOf = (request: string, more: Record<string, string> = {}) => ({
  RequestUUID: request,
  CallUUID: `${request.slice(0, -4)}aaaa`,
  CallStatus: "in-progress",
  ...more,
});
const at = (kind: string, ref: string, query: string) => `/carriers/PROVIDER_TWO/${kind}/${ref}?${query}`;
const TOKEN = "0123456789abcdef0123456789abcdef";

test("the answer: any node takes it with the token of its address; the document asks further, the call is answered", async () => {
  const { ref, request } = await ringing();
  const document = await callback(at("answer", ref, `media=${TOKEN}`), fieldsOf(request));
  expect(asked).toEqual([
    { call_ref: ref, provider: "PROVIDER_TWO", call_id: request, token: TOKEN, heard: null, digits: null, follows: 0 },
  ]);
  expect(document).toContain("Do you confirm?");
  expect(document).toContain(`http://calls.example/carriers/PROVIDER_TWO/turn/${ref}?turn=3`);
  await until("the call to be answered", async () =>
    (await calls.findOne({ _id: ref }))?.state === "ANSWERED" ? true : undefined,
  );
});
test("the answer of a call whose talk carries sound is connected to its WebSocket; nobody is asked for a turn, and the stream's own reports are taken", async () => {
  const { ref, request } = await ringing();
  const socket = `wss://media.example/media/PROVIDER_TWO/${TOKEN}`;
  const document = await callback(
    at("answer", ref, `stream=${Buffer.from(socket).toString("base64url")}`),
    fieldsOf(request),
  );
  expect([asked, document]).toEqual([
    [],
    expect.stringContaining(
      `statusCallbackUrl="http://calls.example/carriers/PROVIDER_TWO/stream/${ref}" statusCallbackMethod="POST">${socket}</Stream><Hangup/>`,
    ),
  ]);
  await until("the call to be answered", async () =>
    (await calls.findOne({ _id: ref }))?.state === "ANSWERED" ? true : undefined,
  );
  const report = (Event: string): Promise<string> =>
    callback(at("stream", ref, ""), { CallUUID: fieldsOf(request).CallUUID, Event, StreamID: randomUUID() });
  for (const Event of ["StartStream", "StopStream"]) expect(await report(Event)).toContain("<Response>");
  expect((await calls.findOne({ _id: ref }))?.hang_up).toBeUndefined();
  await report("DroppedStream");
  await until(
    "the call to be ended",
    async () => (await calls.findOne({ _id: ref }))?.hang_up === "media_failed" || undefined,
  );
  await until("the carrier to be told", () =>
    commands.find((c) => c.startsWith("DELETE") && c.includes(fieldsOf(request).CallUUID)),
  );
});
test("a turn goes to the node that holds the talk, without a token; what was said and keyed is not kept here", async () => {
  const { ref, request } = await ringing({ state: "ANSWERED", rank: 3, holder: "services" });
  await callback(at("turn", ref, "turn=3"), fieldsOf(request, { Speech: "My card is four one", InputType: "speech" }));
  await callback(at("turn", ref, "turn=4"), fieldsOf(request, { Digits: "4111", InputType: "dtmf" }));
  expect(asked.map(({ token, heard, digits, follows }) => ({ token, heard, digits, follows }))).toEqual([
    { token: null, heard: "My card is four one", digits: null, follows: 3 },
    { token: null, heard: null, digits: "4111", follows: 4 },
  ]);
  const kept = await events.find({ ref }).toArray();
  expect(kept.length).toBe(2);
  // ids and times hold digits too
  expect(JSON.stringify(kept)).not.toMatch(/four one|(?<![0-9a-f-])4111(?![0-9a-f-])/);
});
test("a carrier's retry gets its document too, the answer's from the node that took it", async () => {
  const { ref, request } = await ringing({ state: "ANSWERED", rank: 3, holder: "services" });
  const turn = at("turn", ref, "turn=3");
  const [first, second] = [
    await callback(turn, fieldsOf(request, { Speech: "Yes." })),
    await callback(turn, fieldsOf(request, { Speech: "Yes." })),
  ];
  expect(first).toBe(second);
  await callback(at("answer", ref, `media=${TOKEN}`), fieldsOf(request));
  expect(asked.map((t) => [t.token, t.follows])).toEqual([
    [null, 3],
    [null, 3],
    [null, 0],
  ]);
  expect(await events.countDocuments({ ref, kind: "turn" })).toBe(1);
});
test("a retry whose token another node has just used finds that node", async () => {
  const { ref, request } = await ringing();
  answer = async ({ token }) => {
    if (token === null) return LISTEN;
    await calls.updateOne({ _id: ref }, { $set: { holder: "services" } });
    return fail("UNAUTHENTICATED", "The token is used.");
  };
  expect(await callback(at("answer", ref, `media=${TOKEN}`), fieldsOf(request))).toContain("Do you confirm?");
  expect(asked.map((t) => t.token)).toEqual([TOKEN, null]);
});
test.each<[string, Partial<CallDoc>, string, string]>([
  ["nobody holds the talk", {}, "turn", "turn=3"],
  ["the address has no token", {}, "answer", ""],
])("%s: the call ends without a word", async (_what, over, kind, query) => {
  const { ref, request } = await ringing(over);
  const document = await callback(at(kind, ref, query), fieldsOf(request));
  expect(document).toContain(NOBODY);
  expect(document).not.toContain("<Speak");
});
const SORRY = { en: "I am sorry, something went wrong on our side.", de: "bei uns ist etwas schiefgegangen" };
test.each<[string, string, string]>([
  ["in the language of the conversation", "&lang=de-CH", SORRY.de],
  ["in English where there is no such sentence", "&lang=fi-FI", SORRY.en],
])("the node that held the talk is gone: the callee hears so, %s, and the call ends", async (_what, lang, words) => {
  const { ref, request } = await ringing({ holder: "dead-node" });
  const document = await callback(at("turn", ref, `turn=3${lang}`), fieldsOf(request));
  expect(document).toMatch(new RegExp(`<Speak[^>]*>[^<]*${words}[^<]*</Speak><Hangup/>`));
});
test("the node that holds the talk is silent: the callee hears so within two seconds; one that works on its answer is waited for", async () => {
  const { ref, request } = await ringing({ state: "ANSWERED", rank: 3, holder: "services" });
  const { promise, resolve } = Promise.withResolvers<XmlTurnReply>();
  answer = () => promise;
  alive = new Promise<boolean>(() => undefined);
  const began = performance.now();
  expect(await callback(at("turn", ref, "turn=3"), fieldsOf(request))).toContain(SORRY.en);
  expect(performance.now() - began).toBeLessThan(2000);
  alive = true;
  const waited = callback(at("turn", ref, "turn=4"), fieldsOf(request));
  await until("its node to be asked", () => askedAlive > 1 || undefined);
  resolve(LISTEN);
  expect(await waited).toContain("Do you confirm?");
});
test("a talk that can't be begun ends the call with a sentence", async () => {
  const { ref, request } = await ringing();
  answer = () => fail("BUSY", "There is no room.");
  expect(await callback(at("answer", ref, `media=${TOKEN}`), fieldsOf(request))).toContain(SORRY.en);
});
test("keys are pressed on the live leg of a call in progress, and of no other; what are no keys is refused", async () => {
  const order = { from: "+14155550999", to: "+14155550100" } as NonNullable<CallDoc["order"]>;
  const { ref } = await ringing({
    state: "ANSWERED",
    rank: 3,
    holder: "services",
    carrier_leg_id: "0a1b2c3d-leg0",
    order,
  });
  await stage.bus.call("dialer.sendDtmf", { call_ref: ref, digits: "1w2#" });
  expect(commands).toEqual([
    expect.stringMatching(/^POST \/v1\/Account\/MATURNS0000000000000\/Call\/0a1b2c3d-leg0\/DTMF\/ .*1w2#/),
  ]);
  await expect(
    stage.bus.call("dialer.sendDtmf", { call_ref: (await ringing()).ref, digits: "1" }),
  ).rejects.toMatchObject({ type: "VALIDATION_FAILED" });
  await expect(stage.bus.call("dialer.sendDtmf", { call_ref: ref, digits: "one" })).rejects.toMatchObject({
    type: "VALIDATION_ERROR",
  });
  expect(commands.length).toBe(1);
});
test("a forged turn is refused and told to nobody", async () => {
  const { ref, request } = await ringing({ holder: "services" });
  await expect(
    callback(at("turn", ref, "turn=3"), fieldsOf(request, { Speech: "Yes." }), "another-secret"),
  ).rejects.toMatchObject({ type: "SIGNATURE_INVALID" });
  expect(asked).toEqual([]);
});
test.each([
  ["answer", "/a?media=t", { token: "t", follows: 0 }],
  ["answer", "/a", { token: null, follows: 0 }],
  ["turn", "/a?turn=7", { token: null, follows: 7 }],
  ["turn", "/a?turn=7&media=t", { token: null, follows: 7 }],
  ["turn", "/a", { token: null, follows: null }],
  ["turn", "/a?turn=-1", { token: null, follows: null }],
  ["turn", "/a?turn=1e99", { token: null, follows: null }],
  ["turn", "/a?turn=x", { token: null, follows: null }],
])("%s at %s is addressed %j", (kind, path, expected) => expect(turnAddress({ kind, path })).toEqual(expected));
