import type { ParamsOf } from "../../../../shared/bus/bus.ts";
import type { ConfigurationRecord, Provider } from "../../../../shared/contracts/records/configuration.ts";
import type { Env } from "../../../../shared/process/env.ts";
import { MS_PER_SECOND } from "../../../../shared/time/clock.ts";
import type { RateLimit } from "./sliding-window.ts";
import { hasPhone } from "../../../../shared/numbering/spellings.ts";

/** Id of the rate window of a provider's account. */
export const carrierWindowId = (provider: Provider): string => `provider:${provider}`;
/** Id of the rate window of a configuration. */
export const configurationWindowId = (configuration_id: string): string => `configuration:${configuration_id}`;

/** Calls per second of a provider's account; null: no limit. */
export function carrierLimit(env: Env, provider: Provider): RateLimit | null {
  const max = env[`${provider}_CALLS_PER_SECOND`];
  return max === 0 ? null : { max, window_ms: MS_PER_SECOND };
}

/** The rate limit of a configuration for a callee, `to` null: for any; null: there is none, or the callee is on its whitelist. */
export function rateLimitOf(c: ConfigurationRecord, to: string | null): ParamsOf<"scheduler.grant">["rate_limit"] {
  if (!c.rate_limit_enabled || c.rate_limit_max_calls === null || (to !== null && hasPhone(c.rate_limit_whitelist, to)))
    return null;
  const configuration_id = c.rate_window_id ?? c.id;
  return { configuration_id, max_calls: c.rate_limit_max_calls, window_seconds: c.rate_limit_window_seconds };
}

/** A rate limit as its window counts it. */
export const toRateLimit = (limit: { max_calls: number; window_seconds: number }): RateLimit => ({
  max: limit.max_calls,
  window_ms: limit.window_seconds * MS_PER_SECOND,
});
