import type { ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus.ts";
import { plusMs } from "../../../shared/clock.ts";
import type { ConfigurationRecord, Provider } from "../../../shared/contracts/configuration.ts";
import type { Env } from "../../../shared/env.ts";
import { roomAt, type RateLimit } from "./sliding-window.ts";
import type { RateWindows, Taken } from "./rate-windows.repository.ts";

type Answer = ResultOf<"scheduler.grant">;

const SECOND_MS = 1000;
/** Tries when another grant of the same configuration came in between and took the place. Each costs a token of the account. */
const MAX_TRIES = 3;

/** Name of the ring of a provider's account. */
export const carrierRing = (provider: Provider): string => `provider:${provider}`;
/** Name of the ring of a configuration. */
export const configurationRing = (configuration_id: string): string => `configuration:${configuration_id}`;

/** Calls per second of a provider's account; null: no limit. */
export function carrierLimit(env: Env, provider: Provider): RateLimit | null {
  const max = env[`${provider}_CALLS_PER_SECOND`];
  return max === 0 ? null : { max, window_ms: SECOND_MS };
}

/** The rate limit of a configuration for a callee; null: none, or the callee is on its whitelist (or `to` is null: for anybody). */
export function rateLimitOf(c: ConfigurationRecord, to: string | null): ParamsOf<"scheduler.grant">["rate_limit"] {
  if (!c.rate_limit_enabled || c.rate_limit_max_calls === null || (to !== null && c.rate_limit_whitelist.includes(to)))
    return null;
  return { configuration_id: c.id, max_calls: c.rate_limit_max_calls, window_seconds: c.rate_limit_window_seconds };
}

/** A rate limit as its ring knows it. */
export const ringLimit = (limit: { max_calls: number; window_seconds: number }): RateLimit => ({
  max: limit.max_calls,
  window_ms: limit.window_seconds * SECOND_MS,
});

const latest = (a: Date | null, b: Date | null): Date | null => (a === null || (b !== null && b > a) ? b : a);

const refused = (why: "rate_limit" | "carrier_limit", next: Date): Answer => ({
  granted: false,
  why,
  retry_at: next.toISOString(),
});
const granted = (taken: Extract<Taken, { granted: true }>): Answer => ({
  granted: true,
  send_in_ms: Math.max(0, taken.at.getTime() - taken.asked_at.getTime()),
});

/**
 * The right to place one call: a token of the account, and one of the configuration for the same instant. The configuration's ring is looked at first, so that
 * a token of the account is not taken in vain; the account's token then lies no sooner than the configuration has room.
 */
export async function grant(
  ground: ServiceDeps,
  rates: RateWindows,
  { provider, rate_limit, max_wait_ms, min_wait_ms = 0 }: ParamsOf<"scheduler.grant">,
): Promise<Answer> {
  const account = carrierLimit(ground.env, provider);
  const own = rate_limit && { id: configurationRing(rate_limit.configuration_id), limit: ringLimit(rate_limit) };
  const deadline = ground.clock.monotonicMs() + max_wait_ms;
  for (let i = 1; ; i++) {
    const patience_ms = Math.max(0, deadline - ground.clock.monotonicMs());
    const now = ground.clock.now();
    const peeked = await rates.peek([...(own ? [own.id] : []), ...(account ? [] : [carrierRing(provider)])]);
    const place = own && roomAt(peeked.get(own.id) ?? null, own.limit, now).next;
    if (place && place.getTime() > now.getTime() + patience_ms) return refused("rate_limit", place);
    const closed = account ? null : roomAt(peeked.get(carrierRing(provider)) ?? null, null, now).next;
    if (closed && closed.getTime() > now.getTime() + patience_ms) return refused("carrier_limit", closed);

    const soonest = min_wait_ms > 0 ? plusMs(now, min_wait_ms) : null;
    if (!account) {
      const opens = latest(closed, soonest);
      if (!own) return { granted: true, send_in_ms: opens ? opens.getTime() - now.getTime() : 0 };
      const taken = await rates.take(own.id, own.limit, { not_before: opens, slack_ms: patience_ms });
      return taken.granted ? granted(taken) : refused("rate_limit", taken.next);
    }
    const begins = latest(place, soonest);
    const token = await rates.take(carrierRing(provider), account, {
      not_before: begins,
      slack_ms: begins ? Math.max(0, patience_ms - (begins.getTime() - now.getTime())) : patience_ms,
    });
    if (!token.granted) return refused("carrier_limit", token.next);
    if (!own) return granted(token);
    const taken = await rates.take(own.id, own.limit, { not_before: token.at, slack_ms: 0 });
    if (taken.granted) return granted(taken);
    if (i >= MAX_TRIES) return refused("rate_limit", taken.next);
  }
}
