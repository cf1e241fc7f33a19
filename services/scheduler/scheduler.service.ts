import { service } from "../../shared/bus.ts";
import { errorForLog } from "../../shared/log.ts";
import { startLoop, type Loop } from "../../shared/loop.ts";
import { rateWindowSchema } from "./rate-windows.model.ts";
import { rateWindows } from "./rate-windows.repository.ts";
import { tick } from "./tick.ts";

/** The scheduler: a loop that looks at due leads every SCHEDULER_INTERVAL_MS; bus events only make it look sooner. Any number of replicas may run. */
export default service("scheduler", (ground) => {
  const rates = rateWindows(ground.store().model("rate_windows", rateWindowSchema));
  let loop: Loop | null = null;
  const nudge = (): void => loop?.nudge();
  return {
    actions: {},
    events: {
      "lead.queued": ({ due_at }) => { if (due_at !== null && new Date(due_at) <= ground.clock.now()) nudge(); },
      "numbers.freed": nudge,
      "config.changed": nudge,
    },
    started() {
      loop = startLoop({
        name: "scheduler", clock: ground.clock, intervalMs: ground.env.SCHEDULER_INTERVAL_MS, pass: () => tick(ground, rates),
        onError: (error) => ground.log.error({ event: "tick.failed", ...errorForLog(error) }, "a scheduler pass failed; the next one comes after the interval"),
      });
    },
    async stopped() { await loop?.stop(); },
  };
}, { dependencies: ["leads", "config", "blacklist", "numbers", "dialer"], listens: ["lead.queued", "numbers.freed", "config.changed"] });
