import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Entry } from "../../deploy/local/carrier/ledger.ts";
import type { CallRow } from "../../deploy/local/carrier/ledger-calls.ts";
import {
  DEFAULT_ACCOUNT,
  DEFAULT_PLIVO_ACCOUNT,
  startCarrier,
  type Carrier,
  type CarrierOptions,
} from "../../deploy/local/carrier/server.ts";
import { interceptSdk, plivo, type SdkCalls } from "../support/plivo-sdk.ts";
import { until } from "./agent.ts";

/** A request the carrier made to the service. */
export interface PlivoPosted {
  path: string;
  url: string;
  headers: Record<string, string>;
  form: Record<string, string>;
}

/** The simulated carrier, a service that answers documents, and Plivo's own client between them. */
export interface PlivoBench {
  carrier: Carrier;
  calls: SdkCalls;
  http: string;
  posted: PlivoPosted[];
  /** Answers requests by path; replace it. A status of 0 cuts the connection. */
  reply: (posted: PlivoPosted) => { status: number; body?: string };
  /** Places a call; gives the request's name. */
  call(to: string, more?: object): Promise<string>;
  of(request: string, prefix?: string): PlivoPosted[];
  hangup(request: string): Promise<PlivoPosted>;
  row(request: string): Promise<CallRow>;
  entries(kind: string, sid?: string): Promise<Entry[]>;
  post(path: string, body: object): Promise<unknown>;
  rest(path: string, init?: RequestInit): Promise<Response>;
  close(): Promise<void>;
}

export const account = DEFAULT_PLIVO_ACCOUNT;
export const FROM = "15005550006";
/** The beginning of every request about the account. */
export const ACCOUNT_PATH = `/v1/Account/${account.authId}`;
const authorization = `Basic ${Buffer.from(`${account.authId}:${account.authToken}`).toString("base64")}`;

export async function startPlivoBench(options: Partial<CarrierOptions> = {}): Promise<PlivoBench> {
  const carrier = await startCarrier({
    port: 0,
    timeScale: 400,
    seed: "test",
    accounts: [DEFAULT_ACCOUNT],
    ...options,
  });
  const posted: PlivoPosted[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const path = request.url ?? "";
      const one: PlivoPosted = {
        path,
        url: `${bench.http}${path}`,
        headers: Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)])),
        form: Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString())),
      };
      posted.push(one);
      const { status, body } = bench.reply(one);
      if (status === 0) response.destroy();
      else response.writeHead(status).end(body ?? "");
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const http = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { undo } = interceptSdk(carrier.url);
  const get = async <T>(path: string): Promise<T> => (await fetch(`${carrier.url}${path}`)).json() as Promise<T>;
  const sidOf = (request: string): string | undefined =>
    posted.find((p) => p.form["RequestUUID"] === request)?.form["CallUUID"];
  const bench: PlivoBench = {
    carrier,
    http,
    posted,
    calls: new plivo.Client(account.authId, account.authToken).calls,
    reply: () => ({ status: 200, body: "<Response/>" }),
    async call(to, more = {}) {
      const { requestUuid } = (await bench.calls.create(
        FROM,
        to.replace("+", ""),
        `${http}/answer/7a1c1a2e-0000-4000-8000-000000000001.1`,
        {
          ringUrl: `${http}/status`,
          hangupUrl: `${http}/status`,
          ringTimeout: 20,
          timeLimit: 600,
          ...more,
        },
      )) as { requestUuid: string };
      return requestUuid;
    },
    of: (request, prefix = "/") => posted.filter((p) => p.path.startsWith(prefix) && p.form["RequestUUID"] === request),
    hangup: (request) => until(() => bench.of(request).find((p) => p.form["Event"] === "Hangup"), "the hang-up"),
    row: (request) =>
      until(
        async () => (await get<{ calls: CallRow[] }>("/ledger/calls")).calls.find((c) => c.sid === sidOf(request)),
        "the call in the ledger",
      ),
    async entries(kind, sid) {
      const { entries } = await get<{ entries: Entry[] }>("/ledger?limit=10000");
      return entries.filter((e) => e.kind === kind && (sid === undefined || e.call_sid === sid));
    },
    async post(path, body) {
      const answer = await fetch(`${carrier.url}${path}`, { method: "POST", body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(`${path}: HTTP ${answer.status}`);
      return answer.status === 204 ? null : answer.json();
    },
    rest: (path, init = {}) =>
      fetch(`${carrier.url}${ACCOUNT_PATH}${path}`, {
        ...init,
        headers: { authorization, "content-type": "application/json", ...init.headers },
      }),
    async close() {
      undo();
      await carrier.close();
      server.closeAllConnections();
      server.close();
    },
  };
  return bench;
}
