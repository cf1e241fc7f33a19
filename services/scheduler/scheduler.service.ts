import { service } from "../../shared/bus.ts";
import { errorForLog } from "../../shared/log.ts";
import { startLoop, type Loop } from "../../shared/loop.ts";
import { createFacts } from "./admission-inputs.ts";
import { explain } from "./admission/explanation.ts";
import { factsOfLead } from "./admission/lead-inputs.ts";
import { carrierRing, configurationRing, grant } from "./limits/rate-permits.ts";
import { rateWindowSchema } from "./limits/rate-windows.model.ts";
import { rateWindows } from "./limits/rate-windows.repository.ts";
import { hearing } from "./event-handlers.ts";
import { createTicker } from "./pass.ts";
import { createWorks } from "./deps.ts";

/** Passes are at least this far apart, so that what happens at about the same time is served together. */
const PASS_GAP_MS = 10;

/** The scheduler: a loop that looks at the queues that are due, and at all of them every SCHEDULER_INTERVAL_MS; bus events only make it look sooner. Any number of replicas may run. */
export default service(
  "scheduler",
  (ground) => {
    const rates = rateWindows(ground.store().model("rate_windows", rateWindowSchema));
    const works = createWorks(ground, rates);
    const ticker = createTicker(works);
    const fresh = createFacts(ground, rates, 0);
    let loop: Loop | null = null;
    const nudge = (): void => loop?.nudge();
    return {
      actions: {
        async grant(p) {
          const answer = await grant(ground, rates, p);
          works.spoken.asked(carrierRing(p.provider));
          if (p.rate_limit) works.spoken.asked(configurationRing(p.rate_limit.configuration_id));
          return answer;
        },
        async slow({ provider, until, why }) {
          await rates.close(carrierRing(provider), new Date(until), why);
          ground.log.warn(
            { event: "carrier.slowed", provider, until, why },
            "no call goes through this account for a while",
          );
          return {};
        },
        explain: async ({ lead, at }) =>
          explain(lead, await factsOfLead(ground, fresh, lead, at === undefined ? ground.clock.now() : new Date(at))),
      },
      events: hearing(works, ticker, nudge),
      started() {
        loop = startLoop({
          name: "scheduler",
          clock: ground.clock,
          intervalMs: ground.env.SCHEDULER_INTERVAL_MS,
          minGapMs: PASS_GAP_MS,
          pass: () => ticker.pass(),
          onError: (error) =>
            ground.log.error(
              { event: "tick.failed", ...errorForLog(error) },
              "a scheduler pass failed; the next one comes after the interval",
            ),
        });
      },
      async stopped() {
        await loop?.stop();
      },
    };
  },
  {
    dependencies: ["leads", "config", "merchants", "blacklist", "numbers", "dialer"],
    listens: ["lead.queued", "numbers.freed", "config.changed", "calling.switched"],
  },
);
