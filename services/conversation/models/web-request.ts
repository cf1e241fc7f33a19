import type { LookupFunction } from "node:net";
import { lookup } from "node:dns";
import ipaddr from "ipaddr.js";
import { Agent, request } from "undici";

/** A web request that a template's function asks for. */
export interface WebRequest { readonly method: "GET" | "POST"; readonly url: string; readonly body: unknown }
/** How it ended: `result` is the body's text, or a code when it failed. */
export interface WebResult { readonly ok: boolean; readonly result: string }
/** Does web requests for functions; never rejects. */
export type WebCaller = (order: WebRequest, signal: AbortSignal) => Promise<WebResult>;

const TIMEOUT_MS = 5000;
const MAX_BODY_BYTES = 65_536;
const CONNECTIONS_PER_HOST = 10;

/** True for addresses outside the public internet: private, loopback, link-local, metadata and the like. */
export function isPrivateAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return true;
  return ipaddr.process(address).range() !== "unicast";
}

/** Name resolution that refuses private addresses at the moment of connecting, so that a name can't change in between. */
const publicLookup: LookupFunction = (host, options, done) => {
  lookup(host, { ...options, all: true }, (error, found) => {
    if (error) { done(error, []); return; }
    if (found.length === 0 || found.some((f) => isPrivateAddress(f.address))) { done(Object.assign(new Error("private address"), { code: "ADDRESS_REFUSED" }), []); return; }
    if (options.all) done(null, found);
    else done(null, found[0]?.address ?? "", found[0]?.family ?? 4);
  });
};

const codeOf = (error: unknown): string => {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "REQUEST_FAILED";
};

/** What is wrong with an address before anything is resolved; null when it may be tried. */
export function refusal(url: string, allow: { http: boolean; private: boolean }): string | null {
  if (!URL.canParse(url)) return "ADDRESS_INVALID";
  const { protocol, hostname, username } = new URL(url);
  if (username !== "" || (protocol !== "https:" && !(protocol === "http:" && allow.http))) return "ADDRESS_REFUSED";
  const host = hostname.replace(/^\[|\]$/g, "");
  return !allow.private && ipaddr.isValid(host) && isPrivateAddress(host) ? "ADDRESS_REFUSED" : null;
}

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
export function webCaller(allow: { http: boolean; private: boolean }): WebCaller {
  const agent = new Agent({ connections: CONNECTIONS_PER_HOST, ...(allow.private ? {} : { connect: { lookup: publicLookup } }) });
  return async (order, signal) => {
    const refused = refusal(order.url, allow);
    if (refused) return { ok: false, result: refused };
    try {
      const answer = await request(order.url, {
        dispatcher: agent, method: order.method, signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
        headers: { accept: "application/json", "user-agent": "callagent", ...(order.body === null ? {} : { "content-type": "application/json" }) },
        ...(order.body === null || order.method === "GET" ? {} : { body: JSON.stringify(order.body) }),
      });
      const text = await textOf(answer.body);
      return answer.statusCode >= 200 && answer.statusCode < 300 ? { ok: true, result: text } : { ok: false, result: `HTTP_${answer.statusCode}` };
    } catch (error) {
      return { ok: false, result: signal.aborted ? "ABORTED" : codeOf(error) };
    }
  };
}
