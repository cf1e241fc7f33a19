import {
  startCarrier,
  DEFAULT_ACCOUNT,
  DEFAULT_TELNYX_ACCOUNT,
  type Carrier,
  type CarrierOptions,
} from "../../deploy/local/carrier/server.ts";
import type { Entry } from "../../deploy/local/carrier/ledger.ts";
import Telnyx from "telnyx";
import { startAgent, until, type Agent } from "./agent.ts";

/** An event as it came in. */
export interface Told {
  type: string;
  payload: Record<string, unknown>;
  headers: Record<string, string>;
  body: string;
  path: string;
  at: number;
}

/** The simulated Telnyx with a high time scale, its SDK, and whoever is told. */
export interface TelnyxBench {
  carrier: Carrier;
  agent: Agent;
  sdk: Telnyx;
  told: Told[];
  /** Dials with an SDK's call; gives the call's id. */
  dial(to: string, more?: Partial<Telnyx.CallDialParams>): Promise<string>;
  /** Waits for an event of a call. */
  event(id: string, type: string): Promise<Told>;
  entries(kind: string, id: string): Promise<Entry[]>;
  /** A request as it is: no SDK. */
  raw(
    method: string,
    path: string,
    body?: object | string,
    key?: string,
  ): Promise<{ status: number; headers: Headers; body: Record<string, unknown> }>;
  fault(asked: object): Promise<void>;
  close(): Promise<void>;
}

export const { connectionId: CONNECTION, apiKey: KEY } = DEFAULT_TELNYX_ACCOUNT;
export const FROM = "+15005550006";

export async function startTelnyxBench(options: Partial<CarrierOptions> = {}): Promise<TelnyxBench> {
  const carrier = await startCarrier({
    port: 0,
    timeScale: 400,
    seed: "test",
    accounts: [DEFAULT_ACCOUNT],
    ...options,
  });
  const told: Told[] = [];
  const agent = await startAgent((path, headers, body) => {
    const { data } = JSON.parse(body) as { data: { event_type: string; payload: Record<string, unknown> } };
    told.push({ type: data.event_type, payload: data.payload, headers, body, path, at: Date.now() });
  });
  const sdk = new Telnyx({
    apiKey: KEY,
    baseURL: `${carrier.url}/v2`,
    maxRetries: 0,
    publicKey: carrier.telnyxPublicKey,
  });
  const bench: TelnyxBench = {
    carrier,
    agent,
    sdk,
    told,
    async dial(to, more = {}) {
      const { data } = await sdk.calls.dial({
        connection_id: CONNECTION,
        to,
        from: FROM,
        webhook_url: `${agent.http}/events`,
        ...more,
      });
      return data?.call_control_id ?? "";
    },
    event: (id, type) =>
      until(() => told.find((t) => t.type === type && t.payload["call_control_id"] === id), `${type} of ${id}`),
    async entries(kind, id) {
      const { entries } = (await (await fetch(`${carrier.url}/ledger?limit=10000`)).json()) as { entries: Entry[] };
      return entries.filter((e) => e.kind === kind && e.call_sid === id);
    },
    async raw(method, path, body, key = KEY) {
      const answer = await fetch(carrier.url + path, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
    },
    async fault(asked) {
      await fetch(`${carrier.url}/faults`, { method: "POST", body: JSON.stringify(asked) });
    },
    async close() {
      await carrier.close();
      await agent.close();
    },
  };
  return bench;
}
