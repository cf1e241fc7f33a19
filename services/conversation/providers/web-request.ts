import { request } from "undici";
import { egressAgent } from "../../../shared/egress.ts";
import { addressRefusal, type AddressPolicy } from "../../../shared/egress-address.ts";

/** A web request that a template's function asks for. */
export interface WebRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly body: unknown;
}
/** How it ended: `result` is the body's text, or a code when it failed. */
export interface WebResult {
  readonly ok: boolean;
  readonly result: string;
}
/** Does web requests for functions; never rejects. */
export type WebRequester = (order: WebRequest, signal: AbortSignal) => Promise<WebResult>;

const TIMEOUT_MS = 5000;
const MAX_BODY_BYTES = 65_536;
const CONNECTIONS_PER_HOST = 10;

const codeOf = (error: unknown): string => {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "REQUEST_FAILED";
};

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    chunks.push(chunk);
    if (size > MAX_BODY_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES).toString("utf8");
}

/** A caller that follows no redirect, reads at most 64 KiB and gives up after 5 s. */
export function webRequester(policy: AddressPolicy): WebRequester {
  const agent = egressAgent(policy, { connectTimeoutMs: TIMEOUT_MS, connectionsPerHost: CONNECTIONS_PER_HOST });
  return async (order, signal) => {
    if (addressRefusal(order.url, policy)) return { ok: false, result: "ADDRESS_REFUSED" };
    try {
      const answer = await request(order.url, {
        dispatcher: agent,
        method: order.method,
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
        headers: {
          accept: "application/json",
          "user-agent": "callagent",
          ...(order.body === null ? {} : { "content-type": "application/json" }),
        },
        ...(order.body === null || order.method === "GET" ? {} : { body: JSON.stringify(order.body) }),
      });
      const text = await textOf(answer.body);
      return answer.statusCode >= 200 && answer.statusCode < 300
        ? { ok: true, result: text }
        : { ok: false, result: `HTTP_${answer.statusCode}` };
    } catch (error) {
      return { ok: false, result: signal.aborted ? "ABORTED" : codeOf(error) };
    }
  };
}
