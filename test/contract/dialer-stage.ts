import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoClient, type Collection } from "mongodb";
import { WebSocketServer } from "ws";
import type { CallRow } from "../../deploy/local/carrier/ledger-calls.ts";
import { DEFAULT_ACCOUNT, startCarrier, type Carrier } from "../../deploy/local/carrier/server.ts";
import { sign } from "../../deploy/local/carrier/twilio/signature.ts";
import type { CallDoc } from "../../services/dialer/calls.model.ts";
import type { CarrierEventDoc } from "../../services/dialer/carrier-events.model.ts";
import dialer from "../../services/dialer/dialer.service.ts";
import type { ParamsOf, ResultOf } from "../../shared/bus.ts";
import type { Clock } from "../../shared/clock.ts";
import type { TalkFacts } from "../../shared/contracts/attempt.ts";
import type { InboundPlan } from "../../shared/contracts/config.ts";
import type { Prepared } from "../../shared/contracts/conversation.ts";
import type { DialOrder } from "../../shared/contracts/dialer.ts";
import { fail } from "../../shared/errors.ts";
import { setStage, standIn, until, type Stage } from "../support/stage.ts";

/** One thing a service was told, in the order of telling. */
export interface Told {
  what: string;
  params: Record<string, unknown>;
}

/** What the stand-ins do; tests change it. */
export interface Script {
  extend(): boolean;
  listed: boolean;
  /** How talks are prepared to travel. */
  kind: Prepared["kind"];
  /** Whether the line taken for the call still stands. */
  lineHeld: boolean;
  /** Whether lines can be given back at the moment. */
  numbersUp: boolean;
  settle(): void;
  prepare(): Promise<void> | void;
  grant(): ResultOf<"scheduler.grant"> | Promise<ResultOf<"scheduler.grant">>;
  talk: TalkFacts | null;
  /** Whose the number is that somebody called, and what takes the call. */
  called: ResultOf<"numbers.called">["number"];
  plan: InboundPlan | null;
  /** Sees a dial request before the carrier does; true: it has answered itself. */
  onDial(request: IncomingMessage, response: ServerResponse, body: string): Promise<boolean>;
  /** Sees a request for a recording's bytes before the carrier does; true: it has answered itself. */
  onRecording(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** What the media side does once the socket is open: ask to join, and hold the talk when told to go. */
  join: boolean;
  /** Once told to go, keeps the line open instead of ending the call. */
  hold: boolean;
}

const quiet = (): Script => ({
  extend: () => true,
  listed: false,
  lineHeld: true,
  numbersUp: true,
  settle: () => undefined,
  prepare: () => undefined,
  grant: () => ({ granted: true, send_in_ms: 0 }),
  talk: null,
  called: null,
  plan: null,
  onDial: async () => false,
  onRecording: async () => false,
  join: true,
  hold: false,
  kind: "text",
});

/** The dialer between a real simulated carrier and recording stand-ins. */
export interface DialerStage {
  stage: Stage;
  /** The simulated carrier's own address. */
  carrier: string;
  script: Script;
  told: Told[];
  /** Dial requests that reached the carrier's door, by the number called. */
  dials: string[];
  /** Every other change asked of the carrier. */
  changes: { path: string; form: Record<string, string> }[];
  joins: { ref: string; answer: unknown }[];
  calls: Collection<CallDoc>;
  events: Collection<CarrierEventDoc>;
  order(ending: string, over?: Partial<DialOrder>): DialOrder;
  /** Offers the order; throws when it is not taken. */
  dial(order: DialOrder): Promise<void>;
  /** What was told about this attempt. */
  toldOf(order: DialOrder): Told[];
  ledger(order: DialOrder): Promise<CallRow[]>;
  fault(kind: string, order: DialOrder, more?: object): Promise<void>;
  /** A signed callback, straight to the dialer. */
  callback(order: DialOrder, kind: string, fields: Record<string, string>): ParamsOf<"dialer.carrierEvent">;
  reset(): void;
  stop(): Promise<void>;
}

/** What is waited for comes within milliseconds; a machine that stands still gets this long. */
const PATIENCE_MS = 30_000;

/** Waits until the call's document is so. */
export const callIs = (
  d: DialerStage,
  order: DialOrder,
  what: string,
  is: (call: CallDoc) => boolean,
  pass: () => Promise<void> | void = () => undefined,
): Promise<CallDoc> =>
  until(
    `${what} of ${refOf(order)}`,
    async () => {
      await pass();
      const call = await d.calls.findOne({ _id: refOf(order) });
      return call && is(call) ? call : undefined;
    },
    PATIENCE_MS,
  );

export const refOf = (order: DialOrder): string => `${order.lead_id}.${order.claim_no}`;

/** Waits until something was told about this attempt. */
export const toldIs = (
  d: DialerStage,
  order: DialOrder,
  what: string,
  pass: () => Promise<void> | void = () => undefined,
): Promise<Record<string, unknown>> =>
  until(
    `${what} about ${refOf(order)}`,
    async () => {
      await pass();
      return d.toldOf(order).find((t) => t.what === what)?.params;
    },
    PATIENCE_MS,
  );

const listen = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return (server.address() as AddressInfo).port;
};

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
};

const headersOf = (request: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)]));

function standIns(d: () => DialerStage) {
  const tell = (what: string, params: object): void => {
    d().told.push({ what, params: { ...params } });
  };
  const done = { done: true };
  return [
    standIn("leads", {
      extend: (p) => {
        tell("leads.extend", p);
        return { done: d().script.extend() };
      },
      release: (p) => {
        tell("leads.release", p);
        return done;
      },
      settle: (p) => {
        d().script.settle();
        tell("leads.settle", p);
        return { ...done, status: null, outcome: null };
      },
      annotate: (p) => {
        tell("leads.annotate", p);
        return done;
      },
      receive: (p) => {
        tell("leads.receive", p);
        return { lead_id: p.lead_id, claim_no: 1, made: true };
      },
    }),
    standIn("config", {
      inboundFor: (p) => {
        tell("config.inboundFor", p);
        return { plan: d().script.plan };
      },
    }),
    standIn("numbers", {
      called: () => ({ number: d().script.called }),
      keepMany: ({ lines }) => ({
        kept: lines.map((line) => {
          tell("numbers.keepMany", line);
          return d().script.lineHeld;
        }),
      }),
      releaseMany: ({ holders }) => {
        if (!d().script.numbersUp) fail("DEPENDENCY_DOWN", "numbers is away");
        for (const holder of holders) tell("numbers.releaseMany", { holder });
        return {};
      },
    }),
    standIn("scheduler", {
      grant: async (p) => {
        tell("scheduler.grant", p);
        return d().script.grant();
      },
      slow: (p) => {
        tell("scheduler.slow", p);
        return {};
      },
    }),
    standIn("blacklist", {
      check: ({ pairs }) => {
        for (const { phone_number } of pairs) tell("blacklist.check", { to: phone_number });
        return { listed: pairs.map(() => d().script.listed) };
      },
    }),
    standIn("conversation", {
      prepareMany: async ({ calls }) => {
        for (const p of calls) tell("conversation.prepareMany", p);
        await d().script.prepare();
        return {
          results: calls.map((p) => ({
            prepared: {
              media_url: `${d().stage.env.PUBLIC_WS_URL}/media/${p.provider}/${p.call_ref}`,
              token: p.call_ref,
              kind: d().script.kind,
              language: "en-US",
              voice: null,
            },
            refusal: null,
          })),
        };
      },
      stop: (p) => {
        tell("conversation.stop", p);
        return {};
      },
      salvage: (p) => {
        tell("conversation.salvage", p);
        return { talk: d().script.talk };
      },
    }),
  ];
}

/** The carrier's door: counts dial requests, lets a test look or step in, passes the rest on. */
function proxyTo(carrier: string, d: () => DialerStage): Server {
  return createServer((request, response) => {
    void (async () => {
      const dial = request.method === "POST" && (request.url ?? "").endsWith("/Calls.json");
      const body = await bodyOf(request);
      if (dial) {
        d().dials.push(new URLSearchParams(body).get("To") ?? "");
        if (await d().script.onDial(request, response, body)) return;
      } else if (request.method === "POST")
        d().changes.push({ path: request.url ?? "", form: Object.fromEntries(new URLSearchParams(body)) });
      if (/\/Recordings\/\w+\.wav/.test(request.url ?? "") && (await d().script.onRecording(request, response))) return;
      const answer = await fetch(carrier + request.url, {
        method: request.method ?? "GET",
        headers: {
          authorization: String(request.headers.authorization),
          "content-type": String(request.headers["content-type"] ?? "application/json"),
        },
        ...(request.method === "POST" ? { body } : {}),
      });
      const wait = answer.headers.get("retry-after");
      response
        .writeHead(answer.status, {
          "content-type": answer.headers.get("content-type") ?? "application/json",
          ...(wait ? { "retry-after": wait } : {}),
        })
        .end(Buffer.from(await answer.arrayBuffer()));
    })().catch(() => response.destroy()); // as the carrier does when its reply is to be lost
  });
}

/** The gateway's and the conversation's side of the public addresses. */
function publicSide(d: () => DialerStage): { server: Server; sockets: WebSocketServer } {
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? "";
      const [, , provider = "", kind = "", ref = ""] = path.split("?")[0]?.split("/") ?? [];
      try {
        const answer = await d().stage.bus.call("dialer.carrierEvent", {
          provider,
          kind,
          ref,
          method: "POST",
          path,
          headers: headersOf(request),
          body: await bodyOf(request),
        } as ParamsOf<"dialer.carrierEvent">);
        response.writeHead(200, { "content-type": answer.content_type }).end(answer.body);
      } catch {
        response.writeHead(403).end();
      }
    })();
  });
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket, request) => {
    void (async () => {
      const path = request.url ?? "";
      const [, , provider = "", ref = ""] = path.split("/");
      const { valid } = await d().stage.bus.call("dialer.verifyUpgrade", {
        provider,
        path,
        headers: headersOf(request),
      } as ParamsOf<"dialer.verifyUpgrade">);
      if (!valid || !d().script.join) {
        socket.close();
        return;
      }
      const answer = await d().stage.bus.call("dialer.joined", { call_ref: ref, node_id: "services" });
      d().joins.push({ ref, answer });
      if (!d().script.hold) socket.send(JSON.stringify({ type: "end" }));
    })().catch(() => socket.close());
  });
  return { server, sockets };
}

/** Sets the dialer's stage; time is the clock's, the carrier's people are quick. `more`: variables that name the carrier. */
export async function setDialerStage(options: {
  clock: Clock;
  env?: Record<string, string>;
  more?: (carrier: Carrier) => Record<string, string>;
  timeScale?: number;
}): Promise<DialerStage> {
  const carrier = await startCarrier({
    port: 0,
    timeScale: options.timeScale ?? 300,
    seed: "dialer",
    accounts: [DEFAULT_ACCOUNT],
  });
  const box: { d?: DialerStage } = {};
  const d = (): DialerStage => {
    if (!box.d) throw new Error("the stage is not set yet");
    return box.d;
  };
  const proxy = proxyTo(carrier.url, d);
  const { server, sockets } = publicSide(d);
  const [proxyPort, port] = [await listen(proxy), await listen(server)];
  const recordings = await mkdtemp(join(tmpdir(), "callagent-recordings-"));
  const stage = await setStage({
    services: [dialer, ...standIns(d)],
    clock: options.clock,
    random: () => 0.5,
    env: {
      TWILIO_ACCOUNT_SID: DEFAULT_ACCOUNT.sid,
      TWILIO_AUTH_TOKEN: DEFAULT_ACCOUNT.authToken,
      TWILIO_API_BASE: `http://127.0.0.1:${proxyPort}`,
      PUBLIC_HTTP_URL: `http://127.0.0.1:${port}`,
      PUBLIC_WS_URL: `ws://127.0.0.1:${port}`,
      SWEEP_INTERVAL_MS: "200",
      RECORDINGS_DIR: recordings,
      RING_TIMEOUT_SECONDS: "600",
      PROVIDER_ONE_CALLS_PER_SECOND: "0",
      ...options.env,
      ...options.more?.(carrier),
    },
  });
  const client = await MongoClient.connect(stage.uri);
  let people = 0;
  box.d = {
    stage,
    carrier: carrier.url,
    script: quiet(),
    told: [],
    dials: [],
    changes: [],
    joins: [],
    calls: client.db().collection<CallDoc>("calls"),
    events: client.db().collection<CarrierEventDoc>("carrier_events"),
    order: (ending, over = {}) => ({
      lead_id: randomUUID(),
      claim_no: 1,
      reseller_id: "r1",
      merchant_id: null,
      template_id: randomUUID(),
      template_version: 1,
      execution_mode: "TELEPHONY",
      to: `+1${415 + Math.floor(++people / 100)}555${String(people % 100).padStart(2, "0")}${ending}`,
      from: "+14155550999",
      number_id: randomUUID(),
      provider: "PROVIDER_ONE",
      payload: { name: "Ada" },
      dial_until: null,
      record: true,
      voicemail_action: "hangup",
      enforce_blacklist: true,
      max_call_seconds: 600,
      rate_limit: null,
      pre_checks: [],
      pre_check_defers: {},
      ...over,
    }),
    async dial(order) {
      const { taken } = await stage.bus.call("dialer.dialMany", { orders: [order] });
      if (taken[0] !== true) throw new Error(`the dialer did not take ${refOf(order)}`);
    },
    toldOf: (order) =>
      d().told.filter(
        ({ params: p }) =>
          p["lead_id"] === order.lead_id ||
          p["holder"] === refOf(order) ||
          p["call_ref"] === refOf(order) ||
          p["to"] === order.to,
      ),
    ledger: async (order) =>
      (
        (await (await fetch(`${carrier.url}/ledger/calls?to=${encodeURIComponent(order.to)}`)).json()) as {
          calls: CallRow[];
        }
      ).calls,
    fault: async (kind, order, more = {}) => {
      await fetch(`${carrier.url}/faults`, { method: "POST", body: JSON.stringify({ kind, to: order.to, ...more }) });
    },
    callback(order, kind, fields) {
      const path = `/carriers/PROVIDER_ONE/${kind}/${refOf(order)}`;
      const form = new URLSearchParams(fields);
      const headers = {
        "content-type": "application/x-www-form-urlencoded",
        "x-twilio-signature": sign(DEFAULT_ACCOUNT.authToken, stage.env.PUBLIC_HTTP_URL + path, form),
      };
      return {
        provider: "PROVIDER_ONE",
        kind,
        ref: refOf(order),
        method: "POST",
        path,
        headers,
        body: form.toString(),
      };
    },
    reset() {
      d().script = quiet();
    },
    async stop() {
      await stage.stop();
      await client.close();
      for (const socket of sockets.clients) socket.terminate();
      for (const s of [proxy, server]) {
        s.closeAllConnections();
        s.close();
      }
      await carrier.close();
      await rm(recordings, { recursive: true, force: true });
    },
  };
  return box.d;
}
