import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import twilio from "twilio";
import { Agent, request } from "undici";
import { listNumbers } from "../../carriers/twilio/account/account-resources.ts";

/** A carrier that does next to nothing: it notes the instant of each dial request, and every phone it rings is busy. */
export interface Recorder {
  url: string;
  /** Lead -> milliseconds since the epoch at which its dial request came in; a second request for a lead is counted, not noted. */
  dialled: Map<string, number>;
  again(): number;
  clear(): void;
  close(): Promise<void>;
}

/** From the answer to the dial request until the phone is found busy. */
const BUSY_AFTER_MS = 200;
const CALLBACK_SOCKETS = 50;
const UUID_CHARS = 36;

interface Placed {
  sid: string;
  to: string;
  from: string;
  callback: string;
  over: boolean;
}

const resource = (account: string, c: Placed): Record<string, unknown> => ({
  sid: c.sid,
  account_sid: account,
  to: c.to,
  from: c.from,
  status: c.over ? "busy" : "queued",
  direction: "outbound-api",
  api_version: "2010-04-01",
  date_created: new Date().toUTCString(),
  date_updated: null,
  start_time: null,
  end_time: c.over ? new Date().toUTCString() : null,
  duration: c.over ? "0" : null,
  price: c.over ? "-0.01" : null,
  price_unit: "USD",
  queue_time: "0",
  uri: `/2010-04-01/Accounts/${account}/Calls/${c.sid}.json`,
  subresource_uris: {},
});

async function bodyOf(req: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

function json(res: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  res.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) }).end(text);
}

const placedBy = (form: URLSearchParams): Placed => ({
  sid: `CA${randomBytes(16).toString("hex")}`,
  to: form.get("To") ?? "",
  from: form.get("From") ?? "",
  callback: form.get("StatusCallback") ?? "",
  over: false,
});

/** Sends the callback of a busy call. */
async function reportBusy(
  { account, token, agent }: { account: string; token: string; agent: Agent },
  call: Placed,
): Promise<void> {
  call.over = true;
  const params = {
    CallSid: call.sid,
    AccountSid: account,
    From: call.from,
    To: call.to,
    CallStatus: "busy",
    SequenceNumber: "0",
    Timestamp: new Date().toUTCString(),
    ApiVersion: "2010-04-01",
    Direction: "outbound-api",
  };
  const headers = {
    "content-type": "application/x-www-form-urlencoded",
    "x-twilio-signature": twilio.getExpectedTwilioSignature(token, call.callback, params),
  };
  const body = new URLSearchParams(params).toString();
  // a service that is killed in a row of the bench asks for the call itself later
  await request(call.callback, { method: "POST", headers, body, dispatcher: agent })
    .then((answer) => answer.body.dump())
    .catch(() => undefined);
}

/** Starts it for one Twilio account. */
export async function startRecorder(account: string, token: string): Promise<Recorder> {
  const dialled = new Map<string, number>();
  const calls = new Map<string, Placed>();
  const agent = new Agent({ connections: CALLBACK_SOCKETS });
  let again = 0;

  const server = createServer((req, res) => {
    const at = Date.now();
    void (async () => {
      const sid = /\/Calls\/(CA[0-9a-f]{32})\.json/.exec(req.url ?? "")?.[1];
      const known = sid === undefined ? undefined : calls.get(sid);
      if (known) {
        json(res, 200, resource(account, known));
        return;
      }
      const url = new URL(req.url ?? "/", "http://recorder");
      if (req.method === "GET" && url.pathname.endsWith("/IncomingPhoneNumbers.json")) {
        json(res, 200, listNumbers(null, account, { query: url.searchParams, path: url.pathname }).body);
        return;
      }
      if (req.method !== "POST") {
        json(res, sid === undefined ? 200 : 404, { calls: [], code: 20_404, message: "not found" });
        return;
      }
      const call = placedBy(await bodyOf(req));
      const lead = (call.callback.split("/").at(-1) ?? "").slice(0, UUID_CHARS);
      if (dialled.has(lead)) again++;
      else dialled.set(lead, at);
      calls.set(call.sid, call);
      json(res, 201, resource(account, call));
      setTimeout(() => {
        void reportBusy({ account, token, agent }, call);
      }, BUSY_AFTER_MS);
    })();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    dialled,
    again: () => again,
    clear() {
      dialled.clear();
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      await agent.close();
    },
  };
}
