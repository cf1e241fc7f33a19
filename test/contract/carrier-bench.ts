import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import type { Entry } from "../../deploy/local/carrier/ledger.ts";
import {
  CALLBACK_KINDS,
  type AnswerDocument,
  type CallbackKind,
  type CallProgress,
  type CarrierPort,
  type DialAnswer,
  type DialRequest,
  type InboundCall,
  type InboundDecision,
  type Translated,
} from "../../services/dialer/carriers/port.ts";
import type { RawCallback } from "../../shared/contracts/dialer.ts";
import { until } from "../support/stage.ts";
import { createAgent, type Agent } from "./carrier-agent.ts";
import type { CallNames, CarrierDriver, Golden } from "./carrier-driver.ts";

/** A request of the adapter as it reached the carrier's door. */
export type Asked = Golden;
/** A callback as it came in. `translated` null: it was forged, or the beginning of an inbound call. */
export interface Received {
  raw: RawCallback;
  verified: boolean;
  translated: Translated | null;
  at: number;
}

/** An adapter between its simulated carrier and a service that is nothing but the port: every callback is verified, translated and answered. */
export interface CarrierBench {
  carrier: CarrierPort;
  driver: CarrierDriver;
  agent: Agent;
  asked: Asked[];
  received: Received[];
  inbound: InboundCall[];
  /** WebSocket upgrades, and whether the adapter believed them. */
  upgrades: { path: string; headers: Record<string, string>; believed: boolean }[];
  public_http_url: string;
  callback_base: string;
  /** What is decided on the next inbound calls. */
  decide: (call: InboundCall) => InboundDecision;
  request(ending: string, over?: Partial<DialRequest>): DialRequest;
  /** Dials; holds: the agent keeps the line and its tongue. */
  dial(request: DialRequest, how?: { holds: boolean }): Promise<DialAnswer & { names: CallNames }>;
  /** Everything told of a call, in the order it came. */
  steps(ref: string): CallProgress[];
  /** Waits for a step; gives it. */
  step<T extends CallProgress["type"]>(ref: string, type: T): Promise<CallProgress & { type: T }>;
  /** Waits until the phone rings: by the carrier's word, or by the ledger where it does not tell. */
  rings(request: DialRequest): Promise<void>;
  /** The call's names as far as callbacks have told them. */
  names(ref: string): CallNames;
  ledger(kind: string, to: string): Promise<Entry[]>;
  fault(kind: string, more?: object): Promise<void>;
  callIn(from: string, to: string, more?: object): Promise<void>;
  close(): Promise<void>;
}

const FROM = "+14155550999";
const TIMEOUT_MS = 8000;

const listen = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
const read = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
};
const headersOf = (request: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)]));
const isKind = (kind: string): kind is CallbackKind => CALLBACK_KINDS.some((k) => k === kind);

function bodyOf(text: string, type: string): Record<string, unknown> | null {
  if (text === "") return null;
  if (type.includes("json")) return JSON.parse(text) as Record<string, unknown>;
  const form = new URLSearchParams(text);
  return Object.fromEntries(
    [...new Set(form.keys())].map((name) => [name, form.getAll(name).length > 1 ? form.getAll(name) : form.get(name)]),
  );
}

/** The carrier's door: notes what the adapter asks and passes it on. */
function recorder(simulator: string, asked: Asked[]): Server {
  return createServer((request, response) => {
    void (async () => {
      const body = await read(request);
      const { authorization = "", "content-type": type = "" } = request.headers;
      const url = new URL(request.url ?? "/", "http://door");
      asked.push({
        method: request.method ?? "",
        path: url.pathname + decodeURIComponent(url.search),
        authorization,
        body: bodyOf(body, type),
      });
      const answer = await fetch(simulator + request.url, {
        method: request.method ?? "GET",
        redirect: "manual",
        headers: {
          authorization,
          "x-forwarded-host": String(request.headers.host),
          ...(type === "" ? {} : { "content-type": type }),
        },
        ...(body === "" ? {} : { body }),
      });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const passed = ["content-type", "retry-after", "location"].flatMap((name) => {
        const value = answer.headers.get(name);
        return value === null ? [] : [[name, value] as const];
      });
      response.writeHead(answer.status, { ...Object.fromEntries(passed), "content-length": bytes.length }).end(bytes);
    })().catch(() => response.destroy()); // as the carrier does when its reply is to be lost
  });
}

/** Starts the bench: the driver's simulator, the adapter on it, and our public side. */
export async function startBench(make: () => Promise<CarrierDriver>): Promise<CarrierBench> {
  const driver = await make();
  const asked: Asked[] = [];
  const door = recorder(driver.simulator.url, asked);
  const box: { bench?: CarrierBench } = {};
  const b = (): CarrierBench => {
    if (!box.bench) throw new Error("the bench is not set yet");
    return box.bench;
  };
  const answer = async (raw: RawCallback): Promise<AnswerDocument | null> => {
    const { carrier, agent, callback_base } = b();
    const verified = carrier.verify(raw, new Date());
    const note = (translated: Translated | null): void => {
      b().received.push({ raw, verified, translated, at: Date.now() });
    };
    if (!verified || !isKind(raw.kind)) {
      note(null);
      return null;
    }
    const calling =
      raw.kind === "inbound" || (raw.kind === "event" && (raw.ref === "new" || raw.ref === "inbound"))
        ? carrier.inbound(raw)
        : null;
    if (calling) {
      note(null);
      b().inbound.push(calling);
      return carrier.settleInbound(calling, b().decide(calling));
    }
    const translated = carrier.translate(raw.kind, raw);
    note(translated);
    const token = raw.kind === "answer" ? new URLSearchParams(raw.path.split("?")[1]).get("media") : null;
    await carrier.proceed?.(raw);
    const reply = translated.turn === null ? null : agent.onTurn(raw.ref, { token, ...translated.turn });
    return carrier.answerDocument(raw.kind, reply, { callback_base, call_ref: raw.ref, path: raw.path });
  };
  const service = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? "";
      const [, , , kind = "", ref = ""] = path.split("?")[0]?.split("/") ?? [];
      const raw: RawCallback = {
        provider: "PROVIDER_ONE",
        kind,
        ref,
        method: request.method === "GET" ? "GET" : "POST",
        path,
        headers: headersOf(request),
        body: await read(request),
      };
      const document = await answer(raw);
      response
        .writeHead(document ? 200 : 403, document ? { "content-type": document.content_type } : {})
        .end(document?.body ?? "");
    })().catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  const sockets = new WebSocketServer({ server: service });
  sockets.on("connection", (socket, request) => {
    const [path, headers] = [request.url ?? "", headersOf(request)];
    const believed = b().carrier.verifyUpgrade({ path, headers });
    b().upgrades.push({ path, headers, believed });
    if (believed) b().agent.onSocket(path.split("/").at(-1) ?? "", socket);
    else socket.close();
  });
  const [api_base, public_http_url] = [await listen(door), await listen(service)];
  const public_ws_url = public_http_url.replace("http", "ws");
  const callback_base = `${public_http_url}/carriers/PROVIDER_ONE`;
  const post = async (path: string, body: object): Promise<void> => {
    const { status } = await fetch(driver.simulator.url + path, { method: "POST", body: JSON.stringify(body) });
    if (status >= 400) throw new Error(`the simulator answered ${status} to ${path}`);
  };
  let people = 0;
  const about = (ref: string): Received[] => b().received.filter((r) => r.raw.ref === ref);
  box.bench = {
    driver,
    asked,
    received: [],
    inbound: [],
    upgrades: [],
    agent: createAgent(),
    public_http_url,
    callback_base,
    carrier: driver.adapter({ api_base, public_http_url, public_ws_url }),
    decide: () => ({ kind: "reject", message: null, language: "en-US" }),
    request(ending, over = {}) {
      people += 1;
      const call_ref = `${randomUUID()}.1`;
      return {
        call_ref,
        to: `+1415${20_000 + people}${ending}`,
        from: FROM,
        ring_seconds: 20,
        talk_seconds: 600,
        media: {
          kind: "text",
          url: `${public_ws_url}/media/PROVIDER_ONE/${call_ref}`,
          token: call_ref,
          language: "en-US",
          voice: null,
        },
        record: false,
        await_beep: false,
        callback_base,
        ...over,
      };
    },
    async dial(request, how = { holds: false }) {
      if (how.holds) b().agent.holds.add(request.call_ref);
      const answered = await b().carrier.dial(request);
      return {
        ...answered,
        names: {
          call_ref: request.call_ref,
          call_id: answered.kind === "placed" ? answered.call_id : "",
          leg_id: null,
        },
      };
    },
    steps: (ref) => about(ref).flatMap((r) => r.translated?.progress ?? []),
    step: <T extends CallProgress["type"]>(ref: string, type: T) =>
      until(
        `${type} of ${ref}`,
        () =>
          b()
            .steps(ref)
            .find((s): s is CallProgress & { type: T } => s.type === type),
        TIMEOUT_MS,
      ),
    async rings({ call_ref, to }) {
      if (driver.told("queued", b().names(call_ref))) await b().step(call_ref, "queued");
      if (driver.told("ringing", b().names(call_ref))) await b().step(call_ref, "ringing");
      else await until(`the ring of ${call_ref}`, async () => (await b().ledger("ring", to))[0], TIMEOUT_MS);
    },
    names(ref) {
      const all = about(ref).flatMap((r) => (r.translated ? [r.translated] : []));
      return {
        call_ref: ref,
        call_id: all[0]?.call_id ?? "",
        leg_id: all.find((t) => t.leg_id !== null)?.leg_id ?? null,
      };
    },
    async ledger(kind, to) {
      const { entries } = (await (await fetch(`${driver.simulator.url}/ledger?limit=10000`)).json()) as {
        entries: Entry[];
      };
      return entries.filter((e) => e.kind === kind && e.to === to);
    },
    fault: (kind, more = {}) => post("/faults", { kind, ...more }),
    callIn: (from, to, more = {}) => post("/inbound", { carrier: driver.carrier, from, to, ...more }),
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      for (const server of [door, service]) {
        server.closeAllConnections();
        server.close();
      }
      await driver.simulator.close();
    },
  };
  await post("/inbound-address", {
    carrier: driver.carrier,
    url: public_http_url + driver.inbound_path,
    ...(driver.inbound_status_path === null ? {} : { status_url: public_http_url + driver.inbound_status_path }),
  });
  return box.bench;
}
