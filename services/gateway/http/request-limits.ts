import type { IncomingMessage, ServerResponse } from "node:http";
import ipaddr from "ipaddr.js";
import type { Clock } from "../../../shared/time/clock.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import type { Env } from "../../../shared/process/env.ts";
import { fail } from "../../../shared/errors.ts";
import { fixedWindowLimiter, type Allowance } from "./rate-limiter.ts";

const WINDOW_MS = 60_000;
/** Failed attempts a minute from one address, at endpoints that need no token. */
export const ATTEMPTS_PER_ADDRESS = 10;
const MAX_TOKENS = 50_000;
const MAX_ADDRESSES = 50_000;

/** An IPv6 customer owns a whole network of this many bits, so its addresses count as one. */
const IPV6_NETWORK_BITS = 64;

const MAX_ADDRESS_CHARS = 64;

/** One form for every spelling of an address: mapped IPv4 as IPv4, IPv6 as its /64. What is no address stays as it is, shortened. */
export function addressForm(text: string): string {
  const bare = text
    .trim()
    .replace(/^\[(.*)\](?::\d+)?$/, "$1")
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1");
  if (!ipaddr.isValid(bare)) return bare.slice(0, MAX_ADDRESS_CHARS);
  const address = ipaddr.process(bare);
  if (address.kind() === "ipv4") return address.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/${IPV6_NETWORK_BITS}`).toString()}/${IPV6_NETWORK_BITS}`;
}

/**
 * The client's address. X-Forwarded-For is untrusted unless a proxy of ours wrote it; then its last entry is the address
 * that the proxy itself saw, and every entry before it is untrusted.
 */
export function clientAddress(req: Pick<IncomingMessage, "headers" | "socket">, trustProxy: boolean): string {
  const forwarded = trustProxy ? req.headers["x-forwarded-for"] : undefined;
  const last = (Array.isArray(forwarded) ? forwarded.join(",") : (forwarded ?? "")).split(",").at(-1)?.trim();
  return addressForm(last ? last : (req.socket.remoteAddress ?? "unknown"));
}

/** How much one client may ask; each gateway counts for itself. */
export interface Limits {
  /** Counts a request of this identity (a login token counts for its person). Sets RateLimit-*; RATE_LIMITED when there is none left. */
  countRequest(res: ServerResponse, by: By): void;
  /** Counts an attempt from the client's address; RATE_LIMITED when there is none left. Call the returned function when the attempt succeeds: only failures count. */
  countAttempt(req: IncomingMessage, res: ServerResponse): () => void;
}

function setRateLimitHeaders(res: ServerResponse, { limit, remaining, reset_seconds }: Allowance): void {
  res.setHeader("RateLimit-Limit", limit);
  res.setHeader("RateLimit-Remaining", remaining);
  res.setHeader("RateLimit-Reset", reset_seconds);
}

/** The limits of this deployment. */
export function limitsOf(env: Pick<Env, "API_RATE_LIMIT_PER_MINUTE" | "TRUST_PROXY">, clock: Clock): Limits {
  const perMinute = env.API_RATE_LIMIT_PER_MINUTE;
  const tokens = perMinute > 0 ? fixedWindowLimiter(perMinute, WINDOW_MS, MAX_TOKENS) : null;
  const addresses = fixedWindowLimiter(ATTEMPTS_PER_ADDRESS, WINDOW_MS, MAX_ADDRESSES);
  const check = (allowance: Allowance, sentence: string): void => {
    if (!allowance.allowed)
      fail("RATE_LIMITED", `${sentence}; try again in ${allowance.reset_seconds} seconds.`, {
        retry_after_seconds: allowance.reset_seconds,
      });
  };
  return {
    countRequest(res, by) {
      if (tokens === null) return;
      const allowance = tokens.acquirePermit(`${by.kind}:${by.id}`, clock.monotonicMs());
      setRateLimitHeaders(res, allowance);
      check(allowance, `This token has made its ${perMinute} requests of the minute`);
    },
    countAttempt(req, res) {
      const address = clientAddress(req, env.TRUST_PROXY);
      const allowance = addresses.acquirePermit(address, clock.monotonicMs());
      setRateLimitHeaders(res, allowance);
      check(allowance, "Too many failed tries from this address");
      return () => {
        addresses.refund(address);
      };
    },
  };
}
