import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../../shared/clock.ts";
import type { By } from "../../../shared/contracts/identity.ts";
import type { Env } from "../../../shared/env.ts";
import { fail } from "../../../shared/errors.ts";
import { clientAddress } from "./client-address.ts";
import { fixedWindowLimiter, type Allowance } from "./rate-limiter.ts";

const WINDOW_MS = 60_000;
/** Failed tries a minute from one address, at endpoints that need no token. */
export const ATTEMPTS_PER_ADDRESS = 10;
const MAX_TOKENS = 50_000;
const MAX_ADDRESSES = 50_000;

/** How much one client may ask; each gateway counts for itself. */
export interface Limits {
  /** Counts a request of this identity (a login token counts for its person). Sets RateLimit-*; RATE_LIMITED when there is none left. */
  countRequest(res: ServerResponse, by: By): void;
  /** Counts a try from the client's address; RATE_LIMITED when there is none left. Call what it gives when the try was rightful: then it does not count. */
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
