import type { Handlers, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import type { InFlightReservations } from "./in-flight-reservations.ts";
import { carrierLimit, carrierWindowId, configurationWindowId, toRateLimit } from "./rules/rate-limits.ts";
import type { Acquired, RateWindows } from "./rate-windows.repository.ts";
import { permitsAt, type RateLimit } from "./rules/sliding-window.ts";

type Answer = ResultOf<"scheduler.grant">;

/** Tries when another replica takes the configuration's permit in between. */
const MAX_TRIES = 3;

const latest = (a: Date | null, b: Date | null): Date | null => (a === null || (b !== null && b > a) ? b : a);

const refused = (why: "rate_limit" | "carrier_limit", next: Date): Answer => ({
  granted: false,
  why,
  retry_at: next.toISOString(),
});
type Taken = Extract<Acquired, { granted: true }>;
/** A rate window that counts the call, by its id. */
interface Window {
  id: string;
  limit: RateLimit;
}
type RatePermit = NonNullable<Extract<Answer, { granted: true }>["permits"]>[number];

const permitOf = ({ id, limit }: Window, { at, until }: Taken): RatePermit => ({
  window: id,
  from: at.toISOString(),
  until: until.toISOString(),
  window_ms: limit.window_ms,
});
const granted = (last: Taken, permits: readonly RatePermit[]): Answer => ({
  granted: true,
  send_in_ms: Math.max(0, last.at.getTime() - last.asked_at.getTime()),
  permits: [...permits],
});

/** What granting needs. `now`: the store's time, as well as this process knows it. */
export interface PermitDeps extends Pick<ServiceDeps, "clock" | "env"> {
  now(): Date;
}

async function giveBack(rates: RateWindows, permits: readonly RatePermit[]): Promise<void> {
  await Promise.all(
    permits.map(({ window, from, until, window_ms }) =>
      rates.giveBack(window, { from: new Date(from), until: new Date(until), window_ms }),
    ),
  );
}

/**
 * The permit to place one call: one of the account, and one of the configuration for the same instant. The configuration's
 * window is read first, so that no permit of the account is wasted; the account's permit then lies no sooner than the
 * configuration has one. The configuration's permit is valid for as long as is asked; the account's for a moment, for its second is short.
 */
async function acquirePermit(
  { clock, env, now: storeNow }: PermitDeps,
  rates: RateWindows,
  { provider, rate_limit, max_wait_ms, min_wait_ms = 0, valid_ms = 0, uncertain_ms = 0 }: ParamsOf<"scheduler.grant">,
): Promise<Answer> {
  const accountLimit = carrierLimit(env, provider);
  const account: Window | null = accountLimit && { id: carrierWindowId(provider), limit: accountLimit };
  const own: Window | null = rate_limit && {
    id: configurationWindowId(rate_limit.configuration_id),
    limit: toRateLimit(rate_limit),
  };
  const deadline = clock.monotonicMs() + max_wait_ms;
  for (let i = 1; ; i++) {
    const wait_ms = Math.max(0, deadline - clock.monotonicMs());
    const now = storeNow();
    const logs = await rates.read([...(own ? [own.id] : []), ...(account ? [] : [carrierWindowId(provider)])]);
    const place = own && permitsAt(logs.get(own.id) ?? null, own.limit, now).next;
    if (place && place.getTime() > now.getTime() + wait_ms) return refused("rate_limit", place);
    const closed = account ? null : permitsAt(logs.get(carrierWindowId(provider)) ?? null, null, now).next;
    if (closed && closed.getTime() > now.getTime() + wait_ms) return refused("carrier_limit", closed);

    const soonest = min_wait_ms > 0 ? plusMs(now, min_wait_ms) : null;
    if (!account) {
      const opens = latest(closed, soonest);
      if (!own) return { granted: true, send_in_ms: opens ? opens.getTime() - now.getTime() : 0 };
      const taken = await rates.acquire(own.id, own.limit, {
        not_before: opens,
        slack_ms: wait_ms,
        valid_ms,
        uncertain_ms,
      });
      return taken.granted ? granted(taken, [permitOf(own, taken)]) : refused("rate_limit", taken.next);
    }
    const begins = latest(place, soonest);
    const first = await rates.acquire(account.id, account.limit, {
      not_before: begins,
      slack_ms: begins ? Math.max(0, wait_ms - (begins.getTime() - now.getTime())) : wait_ms,
      uncertain_ms,
    });
    if (!first.granted) return refused("carrier_limit", first.next);
    const ofAccount = permitOf(account, first);
    if (!own) return granted(first, [ofAccount]);
    const taken = await rates.acquire(own.id, own.limit, { not_before: first.at, slack_ms: 0, valid_ms, uncertain_ms });
    if (taken.granted) return granted(taken, [ofAccount, permitOf(own, taken)]);
    // nobody heard of it
    await giveBack(rates, [ofAccount]).catch(() => undefined);
    if (i >= MAX_TRIES) return refused("rate_limit", taken.next);
  }
}

/** The scheduler's actions about permits. */
export function permitActions(
  deps: PermitDeps & Pick<ServiceDeps, "log" | "metrics">,
  rates: RateWindows,
  reservations: Pick<InFlightReservations, "redeem" | "askedAfter">,
): Handlers<"scheduler", "grant" | "giveBack" | "slow"> {
  return {
    async grant(p) {
      if (p.waited_ms !== undefined) reservations.askedAfter(p.waited_ms + (p.min_wait_ms ?? 0));
      const answer = await acquirePermit(deps, rates, p);
      const said = answer.granted ? "granted" : answer.why;
      deps.metrics.count("callagent_permits_total", { provider: p.provider, answer: said });
      reservations.redeem(carrierWindowId(p.provider));
      if (p.rate_limit) reservations.redeem(configurationWindowId(p.rate_limit.configuration_id));
      return answer;
    },
    async giveBack({ permits }) {
      await giveBack(rates, permits);
      deps.metrics.count("callagent_permits_returned_total", {}, permits.length);
      return {};
    },
    async slow({ provider, until, why }) {
      await rates.closeUntil(carrierWindowId(provider), new Date(until), why);
      deps.log.warn({ event: "carrier.slowed", provider, until, why }, "the carrier's account backs off");
      return {};
    },
  };
}
