import type { ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import { carrierLimit, carrierWindowId, configurationWindowId, toRateLimit } from "./rules/rate-limits.ts";
import type { Acquired, RateWindows } from "./rate-windows.repository.ts";
import { permitsAt } from "./rules/sliding-window.ts";

type Answer = ResultOf<"scheduler.grant">;

/** Tries when another replica takes the configuration's permit in between. Each costs a permit of the account. */
const MAX_TRIES = 3;

const latest = (a: Date | null, b: Date | null): Date | null => (a === null || (b !== null && b > a) ? b : a);

const refused = (why: "rate_limit" | "carrier_limit", next: Date): Answer => ({
  granted: false,
  why,
  retry_at: next.toISOString(),
});
const granted = (taken: Extract<Acquired, { granted: true }>): Answer => ({
  granted: true,
  send_in_ms: Math.max(0, taken.at.getTime() - taken.asked_at.getTime()),
});

/**
 * The permit to place one call: one of the account, and one of the configuration for the same instant. The configuration's
 * window is read first, so that no permit of the account is wasted; the account's permit then lies no sooner than the
 * configuration has one.
 */
export async function acquirePermit(
  { clock, env }: Pick<ServiceDeps, "clock" | "env">,
  rates: RateWindows,
  { provider, rate_limit, max_wait_ms, min_wait_ms = 0 }: ParamsOf<"scheduler.grant">,
): Promise<Answer> {
  const account = carrierLimit(env, provider);
  const own = rate_limit && { id: configurationWindowId(rate_limit.configuration_id), limit: toRateLimit(rate_limit) };
  const deadline = clock.monotonicMs() + max_wait_ms;
  for (let i = 1; ; i++) {
    const wait_ms = Math.max(0, deadline - clock.monotonicMs());
    const now = clock.now();
    const logs = await rates.read([...(own ? [own.id] : []), ...(account ? [] : [carrierWindowId(provider)])]);
    const place = own && permitsAt(logs.get(own.id) ?? null, own.limit, now).next;
    if (place && place.getTime() > now.getTime() + wait_ms) return refused("rate_limit", place);
    const closed = account ? null : permitsAt(logs.get(carrierWindowId(provider)) ?? null, null, now).next;
    if (closed && closed.getTime() > now.getTime() + wait_ms) return refused("carrier_limit", closed);

    const soonest = min_wait_ms > 0 ? plusMs(now, min_wait_ms) : null;
    if (!account) {
      const opens = latest(closed, soonest);
      if (!own) return { granted: true, send_in_ms: opens ? opens.getTime() - now.getTime() : 0 };
      const taken = await rates.acquire(own.id, own.limit, { not_before: opens, slack_ms: wait_ms });
      return taken.granted ? granted(taken) : refused("rate_limit", taken.next);
    }
    const begins = latest(place, soonest);
    const token = await rates.acquire(carrierWindowId(provider), account, {
      not_before: begins,
      slack_ms: begins ? Math.max(0, wait_ms - (begins.getTime() - now.getTime())) : wait_ms,
    });
    if (!token.granted) return refused("carrier_limit", token.next);
    if (!own) return granted(token);
    const taken = await rates.acquire(own.id, own.limit, { not_before: token.at, slack_ms: 0 });
    if (taken.granted) return granted(taken);
    if (i >= MAX_TRIES) return refused("rate_limit", taken.next);
  }
}
