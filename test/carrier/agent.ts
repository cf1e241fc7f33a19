import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import twilio from "twilio";
import type { default as SdkClient } from "twilio/lib/base/RequestClient.js";
import { WebSocketServer, type WebSocket } from "ws";
import { startCarrier, DEFAULT_ACCOUNT, type Carrier, type CarrierOptions } from "../../deploy/local/carrier/server.ts";
import type { Entry } from "../../deploy/local/carrier/ledger.ts";
import type { CallRow } from "../../deploy/local/carrier/ledger-calls.ts";

/** A request the carrier made to the service. */
export interface Posted {
  path: string;
  url: string;
  signature: string;
  form: Record<string, string>;
}

/** A message of the relay, loosely typed on purpose: the tests assert its fields. */
export type Frame = Record<string, unknown> & { type: string };

/** One relay session as the test's agent sees it. */
export interface Session {
  socket: WebSocket;
  setup: Frame;
  frames: Frame[];
  signature: string;
  closeCode: number | null;
  say(text: string, more?: object): void;
  end(handoff?: object): void;
}

/** What the scripted agent does. */
export type Script = (session: Session, frame: Frame) => void;

/** The service's side: callback receiver and relay server. */
export interface Agent {
  http: string;
  ws: string;
  posted: Posted[];
  sessions: Session[];
  /** Answers requests by path; default 204. May be replaced. */
  reply: (path: string, posted: Posted) => { status: number; body?: string };
  script: Script;
  close(): Promise<void>;
}

export const account = DEFAULT_ACCOUNT;

/** Polls until `probe` gives something; fails after the deadline. */
export async function until<T>(
  probe: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  what: string,
  deadlineMs = 30_000,
): Promise<T> {
  const deadline = Date.now() + deadlineMs;
  for (;;) {
    const value = await probe();
    if (value !== null && value !== undefined && value !== false) return value;
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** `seen`: shown every request as it came, for carriers that send no forms. */
export async function startAgent(
  seen: (path: string, headers: Record<string, string>, body: string) => void = () => undefined,
): Promise<Agent> {
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const path = request.url ?? "";
      const text = Buffer.concat(chunks).toString();
      seen(
        path,
        Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
        text,
      );
      const form = Object.fromEntries(new URLSearchParams(text));
      const posted = {
        path,
        url: `${agent.http}${path}`,
        signature: String(request.headers["x-twilio-signature"]),
        form,
      };
      agent.posted.push(posted);
      const { status, body } = agent.reply(path, posted);
      if (status === 0) {
        response.destroy();
        return;
      }
      response.writeHead(status).end(body ?? "");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const sockets = new WebSocketServer({ server });
  const agent: Agent = {
    http: `http://127.0.0.1:${port}`,
    ws: `ws://127.0.0.1:${port}`,
    posted: [],
    sessions: [],
    reply: () => ({ status: 204 }),
    script: () => undefined,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets.clients) socket.terminate();
        sockets.close();
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  sockets.on("connection", (socket, request) => {
    const session: Session = {
      socket,
      setup: { type: "none" },
      frames: [],
      signature: String(request.headers["x-twilio-signature"]),
      closeCode: null,
      say: (text, more = {}) => socket.send(JSON.stringify({ type: "text", token: text, last: true, ...more })),
      end: (handoff) =>
        socket.send(JSON.stringify({ type: "end", ...(handoff ? { handoffData: JSON.stringify(handoff) } : {}) })),
    };
    agent.sessions.push(session);
    socket.on("close", (code) => {
      session.closeCode = code;
    });
    socket.on("message", (data) => {
      const frame = JSON.parse(String(data)) as Frame;
      session.frames.push(frame);
      if (frame.type === "setup") session.setup = frame;
      agent.script(session, frame);
    });
  });
  return agent;
}

/** The carrier with a high time scale, and the agent it talks to. */
export interface Bench {
  carrier: Carrier;
  agent: Agent;
  client: ReturnType<typeof twilio>;
  /** Places a call whose agent is the relay; gives its sid. */
  call(to: string, more?: object, relayAttributes?: string): Promise<string>;
  entries(kind?: string, sid?: string): Promise<Entry[]>;
  row(sid: string): Promise<CallRow>;
  ended(sid: string): Promise<CallRow>;
  fault(asked: object): Promise<Response>;
  close(): Promise<void>;
}

/** The SDK as the service uses it: only the origin differs. */
export function sdk(origin: string, sid = account.sid, token = account.authToken): ReturnType<typeof twilio> {
  class Redirected extends twilio.RequestClient {
    override request<T>(options: SdkClient.RequestOptions<T>) {
      return super.request({ ...options, uri: options.uri.replace(/^https:\/\/[^/]+/, origin) });
    }
  }
  return twilio(sid, token, { httpClient: new Redirected({ timeout: 20_000 }) as twilio.RequestClient });
}

export const FROM = "+15005550006";

export async function startBench(options: Partial<CarrierOptions> = {}): Promise<Bench> {
  const carrier = await startCarrier({ port: 0, timeScale: 400, seed: "test", accounts: [account], ...options });
  const agent = await startAgent();
  const client = sdk(carrier.url);
  const get = async <T>(path: string): Promise<T> => (await fetch(`${carrier.url}${path}`)).json() as Promise<T>;
  const bench: Bench = {
    carrier,
    agent,
    client,
    async call(to, more = {}, relayAttributes = "") {
      const twiml = `<Response><Connect action="${agent.http}/action"><ConversationRelay url="${agent.ws}/relay/t0" ${relayAttributes}><Parameter name="who" value="a &amp; b"/></ConversationRelay></Connect></Response>`;
      const created = await client.calls.create({
        to,
        from: FROM,
        twiml,
        statusCallback: `${agent.http}/status/7a1c1a2e-0000-4000-8000-000000000001.1?x=a%20b`,
        statusCallbackEvent: ["initiated", "ringing", "answered", "completed"],
        ...more,
      });
      return created.sid;
    },
    async entries(kind, sid) {
      const { entries } = await get<{ entries: Entry[] }>("/ledger?limit=10000");
      return entries.filter(
        (e) => (kind === undefined || e.kind === kind) && (sid === undefined || e.call_sid === sid),
      );
    },
    async row(sid) {
      const { calls } = await get<{ calls: CallRow[] }>("/ledger/calls");
      const row = calls.find((c) => c.sid === sid);
      if (!row) throw new Error("the ledger does not know the call");
      return row;
    },
    ended: (sid) =>
      until(async () => {
        const row = await bench.row(sid);
        return row.ended_at !== null && row;
      }, `the end of ${sid}`),
    fault: (asked) => fetch(`${carrier.url}/faults`, { method: "POST", body: JSON.stringify(asked) }),
    async close() {
      await carrier.close();
      await agent.close();
    },
  };
  return bench;
}

/** An agent that leads an order confirmation as the sample template does: greets and asks, understands, says goodbye, ends. */
export const orderAgent: Script = (session, frame) => {
  const bye = (text: string): void => {
    session.say(text);
    session.end({ reason: "done" });
  };
  if (frame.type === "setup")
    session.say("Hello Ada, this is the shop calling about order 4711 for 20 euros. Shall we deliver it on Monday?");
  if (frame.type === "dtmf") bye("Thank you, your order is confirmed. Goodbye.");
  if (frame.type !== "prompt" || frame["last"] !== true) return;
  const text = String(frame["voicePrompt"]);
  if (/cancel|don't want/i.test(text)) bye("All right, it is cancelled. Goodbye.");
  else if (/friday|tuesday/i.test(text)) bye("Noted. Goodbye.");
  else if (/suit|move/i.test(text)) session.say("Which day would suit you better?");
  else if (/confirm|go ahead|that's right/i.test(text)) bye("Thank you, your order is confirmed. Goodbye.");
  else if (/who is calling/i.test(text)) session.say("This is the shop. May I confirm your order 4711?");
  else session.say("May I confirm your order 4711 for Monday?");
};
