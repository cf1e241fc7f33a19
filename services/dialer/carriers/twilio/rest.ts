import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Twilio } from "twilio";
import type RequestClient from "twilio/lib/base/RequestClient.js";
import type response from "twilio/lib/http/response.js";
import { ASK_TIMEOUT_MS, DIAL_TIMEOUT_MS } from "../carrier-port.ts";
import { holding } from "../departure.ts";
import { refusalOf } from "./refusals.ts";

/** What the REST client needs. `api_base` null: Twilio's own. */
export interface RestOptions {
  account_sid: string;
  auth_token: string;
  api_base: string | null;
}

/** Sockets: more than the dialer ever has requests in flight, so that none queues past its intent's deadline. */
const MAX_SOCKETS = 640;
const AGENT = { timeout: DIAL_TIMEOUT_MS, keepAlive: true, maxSockets: MAX_SOCKETS, maxTotalSockets: MAX_SOCKETS };

/** The same address at another origin, for a proxy or a simulator. */
export function movedTo(api_base: string | null, uri: string): string {
  if (api_base === null) return uri;
  const { pathname, search } = new URL(uri);
  return `${api_base}${pathname}${search}`;
}

const isDial = (method: string, uri: string): boolean =>
  method.toLowerCase() === "post" && new URL(uri).pathname.endsWith("/Calls.json");

/**
 * Twilio's own SDK, loaded when first needed (it is large), with its retries off: a request that rings a phone is sent once.
 * Answers of 400 and above are thrown as Refusal, so that Retry-After is not lost.
 */
export async function openRest(options: RestOptions): Promise<Twilio> {
  const { default: twilio } = await import("twilio");
  class OnceClient extends twilio.RequestClient {
    override async request<TData>(asked: RequestClient.RequestOptions<TData>): Promise<response.default<TData>> {
      const timeout = isDial(asked.method, asked.uri) ? DIAL_TIMEOUT_MS : ASK_TIMEOUT_MS;
      const answer = await super.request<TData>({
        ...asked,
        uri: movedTo(options.api_base, asked.uri),
        timeout,
        allowRedirects: false,
      });
      if (answer.statusCode >= 400) throw refusalOf(answer.statusCode, answer.body, answer.headers);
      return answer;
    }
  }
  const httpClient = new OnceClient({ ...AGENT, autoRetry: false });
  const { defaults } = httpClient.axios;
  // behind a proxy the agent is the proxy's own: its requests wait for no connection
  if (defaults.httpsAgent instanceof HttpsAgent) holding(defaults.httpsAgent);
  defaults.httpAgent = holding(new HttpAgent(AGENT));
  return twilio(options.account_sid, options.auth_token, { httpClient, autoRetry: false });
}
