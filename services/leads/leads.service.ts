import { service, type Handlers, type ServiceDeps } from "../../shared/bus/bus.ts";
import { errorForLog } from "../../shared/process/log.ts";
import { startLoop, type Loop } from "../../shared/time/loop.ts";
import { abortLeads } from "./abort.ts";
import { annotateLead } from "./attempts/annotation.ts";
import { claimMany, drop, receive, release, renewLease, settle } from "./attempts/attempt-transitions.ts";
import { recoverExpiredLeases } from "./attempts/lost-leases.ts";
import { tellOwedCallEnds } from "./attempts/owed-call-ends.ts";
import type { LeadDeps } from "./deps.ts";
import { leadSchema } from "./leads.model.ts";
import { leadsRepository } from "./leads.repository.ts";
import * as queries from "./lists/lead-queries.ts";
import type { FinishedDoc } from "./lists/lead-views.ts";
import { enqueueOwedEvents } from "./owed-events.ts";
import { resumeParked, wakeParked } from "./parked-leads.ts";
import { pushKeySchema } from "./push/push-keys.model.ts";
import { pushKeysRepository } from "./push/push-keys.repository.ts";
import { push, pushMany } from "./push/push.ts";
import { callByDoor } from "./sessions/door-session.ts";
import { joinByLink, makeJoinLink, type LinkDeps } from "./sessions/join-link.ts";
import { expireUnjoined, joinSession, speakInSession } from "./sessions/join-session.ts";
import {
  agingTemplates,
  dueLeads,
  dueQueues,
  expireLeads,
  giveMissingQueues,
  inFlight,
  requeue,
} from "./queues/due-queues.ts";
import { queuesRepository, type QueuesRepository } from "./queues/queues.repository.ts";

/** Leads: their queue, their state machine, their record. */
export default service("leads", (service) => {
  const model = service.store().model("leads", leadSchema);
  const queues = queuesRepository(model);
  const loops: Loop[] = [];
  /** Codes of faults that are over. */
  const over = new Set<string>();
  const deps = {
    ...service,
    downloads: queries.recentDownloads(),
    leads: leadsRepository(model, service.ids),
    keys: pushKeysRepository(service.store().model("push_keys", pushKeySchema)),
    onCallEndOwed: () => loops[1]?.nudge(),
    onFaultOver: (code: string) => void over.add(code),
    onFinished(lead: FinishedDoc): void {
      const { _id: lead_id, request_id, outcome, attempt_count: attempts } = lead;
      service.bus.emit("lead.finished", { lead_id, outcome: outcome ?? "" });
      service.log.info({ event: "lead.finished", lead_id, request_id, outcome, attempts }, "lead finished");
      loops[0]?.nudge();
    },
  };

  return {
    actions: {
      push: (p, { bus }) => push(deps, bus, p),
      pushMany: (p, { bus }) => pushMany(deps, bus, p),
      receive: (p) => receive(deps, p),
      abort: (p, { bus }) => abortLeads(deps, bus, p),
      resume: (p, { bus }) => resumeParked(deps, bus, p),
      parked: () => queries.parked(deps),

      get: (p) => queries.get(deps, p),
      byRequest: (p) => queries.byRequest(deps, p),
      list: (p) => queries.list(deps, p),
      summary: (p) => queries.summary(deps, p),
      timeline: (p, { bus }) => queries.timeline(deps, bus, p),
      explain: (p, { bus }) => queries.explain(deps, bus, p),
      recording: (p, { bus }) => queries.recording(deps, bus, p),
      ...sessionActions(deps),
      unfinished: async (of) => ({ any: await deps.leads.anyUnfinished(of) }),

      heads: (p) => dueQueues(queues, p),
      dueOf: (p) => dueLeads(queues, p),
      requeue: (p) => requeue(deps, queues, p),
      overrideOf: async ({ lead_id }) => ({ override: await queues.overrideOf(lead_id) }),
      inFlight: () => inFlight(queues),
      aging: (p) => agingTemplates(queues, p),
      expire: (p) => expireLeads(deps, queues, p),

      claimMany: (p) => claimMany(deps, p),
      reachable: () => queries.reachable(deps),
      extend: (p) => renewLease(deps, p),
      release: (p) => release(deps, p),
      drop: (p) => drop(deps, p),
      settle: (p) => settle(deps, p),
      annotate: (p) => annotateLead(deps, p),
    },
    async started() {
      loops.push(...startSweeps(service, deps, queues, over));
    },
    async stopped() {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
});

/** The actions of session leads. */
const sessionActions = (
  deps: LinkDeps,
): Handlers<"leads", "join" | "joinLink" | "joinByLink" | "callByDoor" | "speak"> => ({
  joinLink: (p) => makeJoinLink(deps, p),
  joinByLink: (p, { bus }) => joinByLink(deps, bus, p),
  callByDoor: (p, { bus }) => callByDoor(deps, bus, p),
  join: (p, { bus }) => joinSession(deps, bus, p),
  speak: (p, { bus }) => speakInSession(deps, bus, p),
});

/** The sweeps: of webhook events that are owed, and of call ends, in this place, and the others. `over`: codes of faults that are over. */
function startSweeps(
  { clock, env, log, storeClock }: ServiceDeps,
  deps: Parameters<typeof enqueueOwedEvents>[0] & LeadDeps,
  queues: QueuesRepository,
  over: Set<string>,
): Loop[] {
  const start = (name: string, pass: () => Promise<boolean>): Loop =>
    startLoop({
      name,
      clock,
      intervalMs: env.SWEEP_INTERVAL_MS,
      pass: () => (storeClock.known() ? pass() : Promise.resolve(false)),
      onError: (error) =>
        log.error(
          { event: "loop.failed", loop: name, ...errorForLog(error) },
          "a sweep failed; it goes on at the next interval",
        ),
    });
  return [
    start("reports", () => enqueueOwedEvents(deps)),
    start("call ends", () => tellOwedCallEnds(deps)),
    start("lost leases", () => recoverExpiredLeases(deps)),
    start("sessions", () => expireUnjoined(deps)),
    start("parked leads", () => wakeParked(deps, over)),
    start("queues", () => giveMissingQueues(queues)),
  ];
}
