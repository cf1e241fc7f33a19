import { service, type Handlers } from "../../shared/bus/bus.ts";
import { abortLeads } from "./abort.ts";
import { annotateLead } from "./attempts/annotation.ts";
import { claimMany, drop, receive, release, renewLease, settle } from "./attempts/attempt-transitions.ts";
import type { LeadDeps } from "./deps.ts";
import { endActions, endParts } from "./end-parts.ts";
import { eventPart } from "./events/event-part.ts";
import { measured } from "./lead-metrics.ts";
import { traceFinish } from "./lead-spans.ts";
import { leadSchema } from "./leads.model.ts";
import { leadsRepository } from "./leads.repository.ts";
import * as queries from "./lists/lead-queries.ts";
import type { FinishedDoc } from "./lists/lead-views.ts";
import { resumeParked } from "./parked-leads.ts";
import { pushKeySchema } from "./push/push-keys.model.ts";
import { pushKeysRepository } from "./push/push-keys.repository.ts";
import { push, pushMany } from "./push/push.ts";
import { callByDoor } from "./sessions/door-session.ts";
import { joinByLink, lookAtLink, makeJoinLink, type LinkDeps } from "./sessions/join-link.ts";
import { recordingByLink } from "./sessions/link-recording.ts";
import { joinSession, speakInSession } from "./sessions/join-session.ts";
import { agingTemplates, dueLeads, dueQueues, expireLeads, inFlight, requeue } from "./queues/due-queues.ts";
import { queuesRepository, type QueuesRepository } from "./queues/queues.repository.ts";
import { startSweeps, type Sweeps } from "./sweeps.ts";

/** Leads: their queue, their state machine, their record. */
export default service(
  "leads",
  (service) => {
    const model = measured(service, service.store().model("leads", leadSchema));
    const queues = queuesRepository(model);
    const events = eventPart(service, model);
    const ends = endParts(service, model, events.events);
    let sweeps: Sweeps | null = null;
    /** Codes of faults that are over. */
    const over = new Set<string>();
    const deps = {
      ...service,
      counters: ends.counters,
      downloads: queries.recentDownloads(),
      leads: leadsRepository(model, service.ids, (lead_ids, read) => events.owed(sweeps, lead_ids, read)),
      keys: pushKeysRepository(service.store().model("push_keys", pushKeySchema)),
      onCallEndOwed: () => sweeps?.callEnds.nudge(),
      onFaultOver: (code: string) => void over.add(code),
      onFinished(lead: FinishedDoc): void {
        const { _id: lead_id, request_id, outcome, attempt_count: attempts } = lead;
        service.metrics.count("callagent_leads_finished_total", { outcome: outcome ?? "" });
        traceFinish(service.traces, lead, service.clock.now());
        service.bus.emit("lead.finished", { lead_id, outcome: outcome ?? "" });
        service.log.info({ event: "lead.finished", lead_id, request_id, outcome, attempts }, "lead finished");
        sweeps?.webhookEvents.nudge();
      },
    };

    return {
      actions: {
        push: (p, { bus }) => push(deps, bus, p),
        pushMany: (p, { bus }) => pushMany(deps, bus, p),
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

        ...queueActions(deps, queues),
        reachable: () => queries.reachable(deps),
        ...attemptActions(deps),
        ...events.actions(deps.leads, () => sweeps),
        ...endActions(ends, () => sweeps),
      },
      events: events.hears(() => sweeps),
      async started() {
        sweeps = startSweeps(deps, queues, over, events, ends);
      },
      async stopped() {
        await sweeps?.stop();
        await events.stop();
      },
    };
  },
  { listens: ["events.owed", "events.published"] },
);

/** The actions of attempts, from their claim on. */
const attemptActions = (
  deps: LeadDeps,
): Handlers<"leads", "claimMany" | "receive" | "extend" | "release" | "drop" | "settle" | "annotate"> => ({
  claimMany: (p) => claimMany(deps, p),
  receive: (p) => receive(deps, p),
  extend: (p) => renewLease(deps, p),
  release: (p) => release(deps, p),
  drop: (p) => drop(deps, p),
  settle: (p) => settle(deps, p),
  annotate: (p) => annotateLead(deps, p),
});

/** The actions of the queues. */
const queueActions = (
  deps: LeadDeps,
  queues: QueuesRepository,
): Handlers<"leads", "heads" | "dueOf" | "requeue" | "overrideOf" | "inFlight" | "aging" | "expire"> => ({
  heads: (p) => dueQueues(queues, p),
  dueOf: (p) => dueLeads(queues, p),
  requeue: (p) => requeue(deps, queues, p),
  overrideOf: async ({ lead_id }) => ({ override: await queues.overrideOf(lead_id) }),
  inFlight: () => inFlight(queues),
  aging: (p) => agingTemplates(queues, p),
  expire: (p) => expireLeads(deps, queues, p),
});

/** The actions of session leads. */
const sessionActions = (
  deps: LinkDeps,
): Handlers<
  "leads",
  "join" | "joinLink" | "lookAtLink" | "joinByLink" | "recordingByLink" | "callByDoor" | "speak"
> => ({
  joinLink: (p) => makeJoinLink(deps, p),
  lookAtLink: (p, { bus }) => lookAtLink(deps, bus, p),
  joinByLink: (p, { bus }) => joinByLink(deps, bus, p),
  recordingByLink: (p, { bus }) => recordingByLink(deps, bus, p),
  callByDoor: (p, { bus }) => callByDoor(deps, bus, p),
  join: (p, { bus }) => joinSession(deps, bus, p),
  speak: (p, { bus }) => speakInSession(deps, bus, p),
});
