import type { Clock } from "../../../shared/time/clock.ts";
import type { AddressPolicy } from "../../../shared/egress/egress-address.ts";
import { egressClient } from "../../../shared/egress/egress-request.ts";

/** A web request that a template's function makes. */
export interface WebRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly body: unknown;
  /** Absent: our own alone. They may hold secrets. */
  readonly headers?: Readonly<Record<string, string>>;
}
/** Its outcome: `result` is the text of a 2xx answer's body, otherwise a code. */
export interface WebResult {
  readonly ok: boolean;
  readonly result: string;
}
/** Makes web requests for functions; never rejects. */
export type WebRequester = (order: WebRequest, signal: AbortSignal) => Promise<WebResult>;

const OUR_HEADERS = { accept: "application/json", "user-agent": "callagent" };
const TIMEOUT_MS = 5000;
const MAX_BODY_BYTES = 65_536;
const CONNECTIONS_PER_HOST = 10;

/** A requester that follows no redirect, reads at most 64 KiB and gives up after 5 s. */
export function webRequester(policy: AddressPolicy, clock: Clock): WebRequester {
  const client = egressClient(policy, clock, {
    connectTimeoutMs: TIMEOUT_MS,
    connectionsPerHost: CONNECTIONS_PER_HOST,
  });
  return async ({ method, url, body, headers = OUR_HEADERS }, signal) => {
    const json = body === null ? null : JSON.stringify(body);
    const answer = await client.send(
      {
        url,
        method,
        headers: { ...(json === null ? {} : { "content-type": "application/json" }), ...headers },
        body: method === "GET" ? null : json,
        timeoutMs: TIMEOUT_MS,
        read: { firstBytes: MAX_BODY_BYTES },
      },
      signal,
    );
    if ("failure" in answer) {
      const aborted = signal.aborted || answer.failure === "aborted";
      return { ok: false, result: aborted ? "ABORTED" : (answer.code ?? "REQUEST_FAILED") };
    }
    const { status, text, fault } = answer;
    if (status < 200 || status >= 300) return { ok: false, result: `HTTP_${status}` };
    return fault === null ? { ok: true, result: text } : { ok: false, result: `ANSWER_UNREADABLE: it ${fault}` };
  };
}
