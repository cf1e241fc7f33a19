import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import Telnyx from "telnyx";
import { createSigner } from "../../../../local/carriers/telnyx/signature.ts";
import { telnyxCarrier } from "../../../../services/dialer/carriers/telnyx/carrier.ts";
import type { CarrierPort, DialRequest } from "../../../../services/dialer/carriers/carrier-port.ts";

/** What reached the server, as far as Telnyx looks at it. */
interface Seen {
  method: string;
  path: string;
  query: Record<string, string>;
  authorization: string;
  type: string;
  body: unknown;
}

const KEY = "KEY0123";
const CONNECTION = "1684641123236054244";
const CALL_ID = "v3:MdI91X4lWFEs7IgbBEOT9M4AigoY08M0WWZFISt1Yw2axZ_IiE4pqg";
const REF = "7a1c1a2e-0000-4000-8000-000000000001.2";
const STATE = Buffer.from(REF).toString("base64");
const BASE = "https://calls.example.com/carriers/PROVIDER_THREE";
const call = { call_id: CALL_ID, leg_id: null };
const media = {
  kind: "text" as const,
  url: "wss://calls.example.com/media/PROVIDER_THREE/abc",
  token: "abc",
  language: "de-DE",
  voice: "Telnyx.KokoroTTS.af",
};
const request: DialRequest = {
  call_ref: REF,
  to: "+14155550101",
  from: "+14155550999",
  ring_seconds: 45,
  talk_seconds: 630,
  media,
  record: true,
  await_beep: true,
  callback_base: BASE,
};
const relay = {
  url: media.url,
  language: media.language,
  voice: media.voice,
  dtmf_detection: true,
  interruptible: "any" as const,
};
const sound = { ...media, kind: "audio" as const };
const stream = {
  stream_url: media.url,
  stream_track: "inbound_track" as const,
  stream_codec: "PCMU" as const,
  stream_bidirectional_mode: "rtp" as const,
  stream_bidirectional_codec: "PCMU" as const,
  stream_bidirectional_target_legs: "self" as const,
};
const recording = {
  record: "record-from-answer" as const,
  record_channels: "dual" as const,
  record_format: "wav" as const,
};
const hooks = { webhook_url: `${BASE}/event/${REF}`, webhook_url_method: "POST" as const };

let server: Server;
let seen: Seen[] = [];
let ours: CarrierPort;
let sdk: Telnyx;

beforeAll(async () => {
  server = createServer((asked, response) => {
    const chunks: Buffer[] = [];
    asked.on("data", (chunk: Buffer) => chunks.push(chunk));
    asked.on("end", () => {
      const url = new URL(asked.url ?? "/", "http://x");
      const text = Buffer.concat(chunks).toString();
      seen.push({
        method: asked.method ?? "",
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        authorization: String(asked.headers.authorization),
        type: String(asked.headers["content-type"] ?? ""),
        body: text === "" ? null : JSON.parse(text),
      });
      response.writeHead(200, { "content-type": "application/json" }).end(
        JSON.stringify({
          data:
            url.pathname.endsWith("active_calls") ||
            url.pathname.endsWith("call_events") ||
            url.pathname.endsWith("recordings")
              ? []
              : { call_control_id: CALL_ID, call_leg_id: "leg" },
          meta: { page_number: 1, total_pages: 1 },
        }),
      );
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  ours = telnyxCarrier({
    api_key: KEY,
    api_base: origin,
    connection_id: CONNECTION,
    public_key: createSigner("sdk").publicKey,
    public_http_url: "https://calls.example.com",
    public_ws_url: "wss://calls.example.com",
  });
  sdk = new Telnyx({ apiKey: KEY, baseURL: `${origin}/v2`, maxRetries: 0 });
});
beforeEach(() => {
  seen = [];
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const page = { "page[number]": 1, "page[size]": 250 };
const since = new Date("2026-11-21T10:00:03Z");
const caller = { call_id: CALL_ID, leg_id: null, from: "+14155550101", to: "+14155550999" };
const told = (event_type: string, state: object) => ({
  method: "POST" as const,
  path: "/carriers/PROVIDER_THREE/event/inbound",
  headers: {},
  body: JSON.stringify({
    data: {
      event_type,
      id: "1",
      payload: { call_control_id: CALL_ID, client_state: Buffer.from(JSON.stringify(state)).toString("base64") },
    },
  }),
});
const SAY = { say: "We are closed.", language: "de-DE" };

describe("our client's requests are the SDK's", () => {
  test.each<[string, () => Promise<unknown>, () => Promise<unknown>]>([
    [
      "dial",
      () => ours.dial(request),
      () =>
        sdk.calls.dial({
          connection_id: CONNECTION,
          to: request.to,
          from: request.from,
          ...hooks,
          command_id: REF,
          client_state: STATE,
          timeout_secs: 45,
          time_limit_secs: 630,
          answering_machine_detection: "greeting_end",
          ...recording,
          conversation_relay_config: relay,
        }),
    ],
    [
      "dial for sound",
      () => ours.dial({ ...request, media: sound, record: false }),
      () =>
        sdk.calls.dial({
          connection_id: CONNECTION,
          to: request.to,
          from: request.from,
          ...hooks,
          command_id: REF,
          client_state: STATE,
          timeout_secs: 45,
          time_limit_secs: 630,
          answering_machine_detection: "greeting_end",
          ...stream,
          stream_bidirectional_sampling_rate: 8000,
        }),
    ],
    [
      "answer for sound",
      () =>
        ours.answerInbound(caller, {
          kind: "connect",
          call_ref: REF,
          media: sound,
          callback_base: BASE,
          record: true,
          talk_seconds: 600,
          greeting: null,
        }),
      () =>
        sdk.calls.actions.answer(CALL_ID, {
          command_id: "answer",
          client_state: STATE,
          ...hooks,
          ...recording,
          ...stream,
        }),
    ],
    ["hang up", () => ours.hangUp(call, true), () => sdk.calls.actions.hangup(CALL_ID, {})],
    [
      "transfer",
      () => ours.transfer(call, "+14155550701", "+14155550999", { base: BASE, call_ref: REF }),
      () =>
        sdk.calls.actions.transfer(CALL_ID, {
          to: "+14155550701",
          from: "+14155550999",
          client_state: STATE,
          command_id: `${REF}.transfer`,
        }),
    ],
    ["keys", () => ours.sendDtmf(call, "12#w"), () => sdk.calls.actions.sendDtmf(CALL_ID, { digits: "12#w" })],
    [
      "reject",
      () => ours.answerInbound(caller, { kind: "reject", message: null, language: "en-US" }),
      () => sdk.calls.actions.reject(CALL_ID, { cause: "CALL_REJECTED", command_id: "reject" }),
    ],
    [
      "answer to talk",
      () =>
        ours.answerInbound(caller, {
          kind: "connect",
          call_ref: REF,
          media,
          callback_base: BASE,
          record: true,
          talk_seconds: 600,
          greeting: null,
        }),
      () =>
        sdk.calls.actions.answer(CALL_ID, {
          command_id: "answer",
          client_state: STATE,
          ...hooks,
          ...recording,
          conversation_relay_config: relay,
        }),
    ],
    [
      "speak",
      () => ours.continueInbound?.(told("call.answered", SAY)) ?? Promise.reject(new Error("no proceed")),
      () =>
        sdk.calls.actions.speak(CALL_ID, { command_id: "speak", payload: SAY.say, voice: "female", language: "de-DE" }),
    ],
    [
      "hand over",
      () =>
        ours.continueInbound?.(told("call.answered", { hand_to: "+14155550777" })) ??
        Promise.reject(new Error("no proceed")),
      () => sdk.calls.actions.transfer(CALL_ID, { command_id: "transfer", to: "+14155550777" }),
    ],
    [
      "recordings",
      () => ours.recordingsOf(call),
      async () => {
        await sdk.recordings.list({ filter: { call_control_id: CALL_ID }, "page[number]": 1, "page[size]": 20 });
      },
    ],
    [
      "look up",
      () => ours.fetch(call),
      async () => {
        await sdk.calls.retrieveStatus(CALL_ID);
        await sdk.callEvents.list({ filter: { leg_id: "leg", type: "webhook" }, ...page });
      },
    ],
    [
      "find",
      () => ours.find({ call_ref: REF, to: request.to, from: request.from, since, until: since }),
      async () => {
        await sdk.callEvents.list({
          filter: {
            from: request.from,
            to: request.to,
            occurred_at: { gte: "2026-11-21T10:00:00.000Z" },
            type: "webhook",
          },
          ...page,
        });
        await sdk.connections.listActiveCalls(CONNECTION, page);
      },
    ],
  ])("%s", async (_name, mine, theirs) => {
    await mine();
    const [asked] = [seen];
    seen = [];
    await theirs();
    expect(asked).toEqual(seen);
    expect(asked.length).toBeGreaterThan(0);
  });
});
