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
/** And in an hour: whoever guesses slowly, e-mail after e-mail. */
export const ATTEMPTS_PER_ADDRESS_AND_HOUR = 200;
const HOUR_MS = 3_600_000;
const MAX_TENANTS = 50_000;
/** Requests a minute from one address whose bearer token is none of ours; further ones are not looked into. */
export const BAD_TOKENS_PER_ADDRESS = 60;
/** Addresses that are remembered. */
export const MAX_ADDRESSES = 50_000;

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

/** True for an address of the machine itself. */
export const isLoopback = (address: string | undefined): boolean =>
  address !== undefined && ipaddr.isValid(address) && ipaddr.process(address).range() === "loopback";

/** What a tenant used of its allowance, in units. */
export interface Spent {
  tenant: string;
  units: number;
}

/** How much one client may ask: of a tenant over all gateways that tell each other (allowance-notices.ts), of an address at this gateway. */
export interface Limits {
  /** Counts a request of the asker's tenant by what it costs. Sets RateLimit-* where no header is sent yet; RATE_LIMITED when nothing is left. */
  countRequest(res: ServerResponse, by: By, cost: number): void;
  /** RATE_LIMITED where too many bad tokens came from the client's address. Call the returned function for one more of them. */
  checkBadTokens(req: IncomingMessage): () => void;
  /** Counts an attempt from the client's address; RATE_LIMITED when there is none left. Call the returned function when the attempt succeeds: only failures count. */
  countAttempt(req: IncomingMessage, res: ServerResponse): () => void;
  /** The client's address. */
  addressOf(req: IncomingMessage): string;
}

/** The same, with what gateways tell each other of it. */
export interface SharedLimits extends Limits {
  /** Takes what tenants used here and the other gateways do not know yet, the most first, at most `count` of them. */
  takeSpent(count: number): Spent[];
  /** Counts what tenants used at another gateway. */
  spentElsewhere(spent: readonly Spent[]): void;
}

/** Whose allowance a request is charged to: all tokens and people of a merchant have one, those of a reseller itself another, each admin one. */
const tenantOf = ({ kind, id, role, reseller_id, merchant_id }: By): string => {
  if (role === "admin") return `${kind}:${id}`;
  return merchant_id === null ? `reseller:${reseller_id ?? id}` : `merchant:${merchant_id}`;
};

function setRateLimitHeaders(res: ServerResponse, { limit, remaining, reset_seconds }: Allowance): void {
  if (res.headersSent) return;
  res.setHeader("RateLimit-Limit", limit);
  res.setHeader("RateLimit-Remaining", remaining);
  res.setHeader("RateLimit-Reset", reset_seconds);
}

/** The limits of this deployment. */
export function limitsOf(env: Pick<Env, "API_RATE_LIMIT_PER_MINUTE" | "TRUST_PROXY">, clock: Clock): SharedLimits {
  const perMinute = env.API_RATE_LIMIT_PER_MINUTE;
  const tenants = perMinute > 0 ? fixedWindowLimiter(perMinute, WINDOW_MS, MAX_TENANTS) : null;
  const bad_tokens = fixedWindowLimiter(BAD_TOKENS_PER_ADDRESS, WINDOW_MS, MAX_ADDRESSES);
  const addresses = fixedWindowLimiter(ATTEMPTS_PER_ADDRESS, WINDOW_MS, MAX_ADDRESSES);
  const hourly = fixedWindowLimiter(ATTEMPTS_PER_ADDRESS_AND_HOUR, HOUR_MS, MAX_ADDRESSES);
  const untold = new Map<string, number>();
  const check = (allowance: Allowance, sentence: string): void => {
    if (!allowance.allowed)
      fail("RATE_LIMITED", `${sentence}; try again in ${allowance.reset_seconds} seconds.`, {
        retry_after_seconds: allowance.reset_seconds,
      });
  };
  return {
    countRequest(res, by, cost) {
      if (tenants === null) return;
      const tenant = tenantOf(by);
      const allowance = tenants.acquirePermit(tenant, clock.monotonicMs(), cost);
      if (allowance.allowed && (untold.has(tenant) || untold.size < MAX_TENANTS))
        untold.set(tenant, (untold.get(tenant) ?? 0) + cost);
      setRateLimitHeaders(res, allowance);
      check(allowance, `Your merchant or reseller has used its ${perMinute} units of the minute`);
    },
    checkBadTokens(req) {
      const address = clientAddress(req, env.TRUST_PROXY);
      check(
        bad_tokens.acquirePermit(address, clock.monotonicMs(), 0),
        "Too many requests with unknown tokens from this address",
      );
      return () => {
        bad_tokens.acquirePermit(address, clock.monotonicMs());
      };
    },
    takeSpent(count) {
      const all = [...untold].map(([tenant, units]) => ({ tenant, units }));
      const taken = all.toSorted((a, b) => b.units - a.units).slice(0, count);
      for (const { tenant } of taken) untold.delete(tenant);
      return taken;
    },
    spentElsewhere(spent) {
      const nowMs = clock.monotonicMs();
      for (const { tenant, units } of spent) tenants?.usedElsewhere(tenant, nowMs, units);
    },
    addressOf: (req) => clientAddress(req, env.TRUST_PROXY),
    countAttempt(req, res) {
      const address = clientAddress(req, env.TRUST_PROXY);
      const allowance = addresses.acquirePermit(address, clock.monotonicMs());
      setRateLimitHeaders(res, allowance);
      check(allowance, "Too many failed tries from this address");
      check(hourly.acquirePermit(address, clock.monotonicMs()), "Too many failed tries from this address in an hour");
      return () => {
        addresses.refund(address);
        hourly.refund(address);
      };
    },
  };
}
