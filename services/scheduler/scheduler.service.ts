import { service, type Implementation, type ServiceDeps } from "../../shared/bus/bus.ts";
import { recencyCache } from "../../shared/cache.ts";
import { OWN_QUEUE } from "../../shared/contracts/records/lead.ts";
import { isRefused } from "../../shared/database/database-errors.ts";
import { errorForLog } from "../../shared/process/log.ts";
import { startLoop, type Loop } from "../../shared/time/loop.ts";
import { createAdmissionInputs, gateInputsOf, INPUTS_TTL_MS } from "./admission-inputs.ts";
import { explain, explainFailure } from "./admission/explanation.ts";
import { admitSession } from "./admission/session-admission.ts";
import { failureOf, FAILURE_TTL_MS, SLOT_RECHECK_MS } from "./dispositions.ts";
import { createAimdBudget } from "./fairness/aimd-budget.ts";
import { newTurns, type Supply } from "./fairness/fair-shares.ts";
import { createInFlightReservations } from "./limits/in-flight-reservations.ts";
import { permitActions } from "./limits/rate-permits.ts";
import { rateWindowSchema } from "./limits/rate-windows.model.ts";
import { rateWindows, type RateWindows } from "./limits/rate-windows.repository.ts";
import { isAway } from "./memory/in-parts.ts";
import { createQueueSchedule } from "./memory/queue-schedule.ts";
import { createQueueWatch } from "./memory/queue-watch.ts";
import { createPasses } from "./pass.ts";
import { createExpiry } from "./stages/expire-leads.ts";
import { lookAheadMs } from "./stages/scan.ts";

/** Passes are at least this far apart, so that what happens at about the same time is served together. */
const PASS_GAP_MS = 10;
/** How old the count of leads in flight may be. */
const IN_FLIGHT_TTL_MS = 1000;
const DUE_COUNT_TTL_MS = 2000;
const MAX_PARTIES = 10_000;
const MAX_QUEUES = 50_000;
/** In the place of a template's id: a whole pass failed. */
const ALL_TEMPLATES = "";

/** What the passes of this process keep in memory. A crash may lose all of it. */
function passMemory(deps: ServiceDeps, rates: RateWindows) {
  const { clock, env } = deps;
  const reservations = createInFlightReservations();
  return {
    inputs: createAdmissionInputs(deps, rates, INPUTS_TTL_MS, reservations.aheadMs),
    schedule: createQueueSchedule(),
    watch: createQueueWatch(clock, deps.metrics),
    turns: newTurns(),
    budget: createAimdBudget(env.SCHEDULER_BATCH),
    reservations,
    failures: recencyCache<string>({ max: MAX_QUEUES, ttl: { ms: FAILURE_TTL_MS, clock } }),
    slotRefusals: recencyCache<true>({ max: MAX_PARTIES, ttl: { ms: SLOT_RECHECK_MS, clock } }),
    dueCounts: recencyCache<number>({ max: MAX_QUEUES, ttl: { ms: DUE_COUNT_TTL_MS, clock } }),
    inFlight: recencyCache<Supply["in_flight"]>({ max: 1, ttl: { ms: IN_FLIGHT_TTL_MS, clock } }),
  };
}

/** The event handlers drop what may have changed and wake the loop. Nothing depends on an event: a full scan finds all. */
function eventHandlers(
  { clock, env }: ServiceDeps,
  { inputs, schedule, slotRefusals }: ReturnType<typeof passMemory>,
  { scan, nudge }: { scan(): void; nudge(): void },
): NonNullable<Implementation<"scheduler">["events"]> {
  return {
    "lead.queued": ({ queue, due_at }) => {
      if (due_at === null) return;
      const at = Date.parse(due_at);
      if (at > clock.now().getTime() + lookAheadMs(env.SCHEDULER_INTERVAL_MS)) return;
      if (queue === undefined) return scan();
      schedule.schedule(queue, at);
      nudge();
    },
    "numbers.freed": ({ provider }) => {
      slotRefusals.clear();
      inputs.invalidateSlots();
      schedule.slotReleased(provider, clock.now().getTime());
      nudge();
    },
    "config.changed": ({ template_id }) => {
      inputs.invalidateTemplate(template_id);
      scan();
    },
    "calling.switched": () => {
      inputs.invalidatePauses();
      scan();
    },
  };
}

/** The scheduler: a loop that serves the queues that are due, and scans all of them every SCHEDULER_INTERVAL_MS. Any number of replicas may run. */
export default service(
  "scheduler",
  (deps) => {
    const { clock, env, log, storeClock } = deps;
    const windows = deps.store().model("rate_windows", rateWindowSchema);
    const rates = rateWindows(windows, () => storeClock.database());
    const memory = passMemory(deps, rates);
    const expiry = createExpiry({ ...deps, ...memory });
    const passes = createPasses({ ...deps, ...memory, expiry });
    const freshInputs = createAdmissionInputs(deps, rates, 0);
    let loop: Loop | null = null;
    const nudge = (): void => loop?.nudge();
    const scan = (): void => {
      passes.scanSoon();
      nudge();
    };
    return {
      actions: {
        ...permitActions({ ...deps, now: () => storeClock.now() }, rates, memory.reservations),
        admitSession: async ({ lead }) => admitSession(await gateInputsOf(deps, freshInputs, lead, clock.now())),
        async explain({ lead, at }) {
          const instant = at === undefined ? clock.now() : new Date(at);
          const { lead_id, status, template_id } = lead;
          const skipped = passes.unread(template_id) ?? passes.unread(OWN_QUEUE + lead_id);
          const failures = [ALL_TEMPLATES, lead_id, template_id].flatMap((key) => memory.failures.get(key) ?? []);
          const known = failures.concat(skipped ? [failureOf(skipped.error)] : []);
          try {
            const judged = explain(lead, await gateInputsOf(deps, freshInputs, lead, instant));
            return judged.eligible && known[0] !== undefined ? explainFailure(judged, known[0]) : judged;
          } catch (error) {
            if (isAway(error) && !isRefused(error)) throw error;
            return explainFailure({ lead_id, status, at: instant.toISOString(), gates: [] }, failureOf(error));
          }
        },
      },
      events: eventHandlers(deps, memory, { scan, nudge }),
      started() {
        loop = startLoop({
          name: "scheduler",
          clock,
          intervalMs: env.SCHEDULER_INTERVAL_MS,
          minGapMs: PASS_GAP_MS,
          // by a clock that was set something would be due that is not
          pass: () => (storeClock.known() ? passes.run() : Promise.resolve(env.SCHEDULER_INTERVAL_MS)),
          onError: (error) => {
            if (isRefused(error)) memory.failures.set(ALL_TEMPLATES, failureOf(error));
            log.error({ event: "tick.failed", ...errorForLog(error) }, "a scheduler pass failed; the next one follows");
          },
        });
        expiry.start();
      },
      // permits and explanations are given to the end
      drain: async () => void (await Promise.all([loop?.stop(), expiry.stop()])),
    };
  },
  {
    dependencies: ["leads", "config", "merchants", "blacklist", "numbers", "dialer"],
    listens: ["lead.queued", "numbers.freed", "config.changed", "calling.switched"],
  },
);
