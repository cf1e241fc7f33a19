import { service } from "../../shared/bus.ts";
import { plusSeconds } from "../../shared/clock.ts";
import { errorForLog } from "../../shared/log.ts";
import { startLoop, type Loop } from "../../shared/loop.ts";
import { abortLeads } from "./abort.ts";
import { attemptTransitions } from "./attempts/attempt-transitions.ts";
import * as machine from "./rules/lead-state-machine.ts";
import type { FinishedDoc } from "./lists/lead-views.ts";
import { leadSchema } from "./leads.model.ts";
import { leadsRepository } from "./leads.repository.ts";
import { pushKeySchema } from "./push/push-keys.model.ts";
import { pushKeysRepository } from "./push/push-keys.repository.ts";
import { push, pushMany } from "./push/push.ts";
import { dueLeads, expireLeads, dueQueues, giveMissingQueues } from "./queues/due-queues.ts";
import { queuesRepository } from "./queues/queues.repository.ts";
import { leadQueries } from "./lists/lead-queries.ts";
import { receiveInboundLead } from "./attempts/inbound-receipt.ts";
import { recoverExpiredLeases, enqueueOwedEvents } from "./attempts/lost-leases.ts";

/** Leads: the queue, the machine, the record (interface.md 2.1–2.4, 3.1, 4.2). */
export default service("leads", (deps) => {
  const model = deps.store().model("leads", leadSchema);
  const leads = leadsRepository(model, deps.ids);
  const queues = queuesRepository(model);
  const pushDeps = { ...deps, leads, keys: pushKeysRepository(deps.store().model("push_keys", pushKeySchema)) };
  const read = leadQueries(deps, leads);
  const loops: Loop[] = [];
  let reports: Loop | null = null;

  const onFinished = (lead: FinishedDoc): void => {
    deps.bus.emit("lead.finished", { lead_id: lead._id, outcome: lead.outcome ?? "" });
    deps.log.info(
      {
        event: "lead.finished",
        lead_id: lead._id,
        request_id: lead.request_id,
        outcome: lead.outcome,
        attempts: lead.attempt_count,
      },
      "lead finished",
    );
    reports?.nudge();
  };
  const moves = attemptTransitions(deps, leads, onFinished);
  const loop = (name: string, pass: () => Promise<boolean>): Loop =>
    startLoop({
      name,
      clock: deps.clock,
      intervalMs: deps.env.SWEEP_INTERVAL_MS,
      pass,
      onError: (error) =>
        deps.log.error(
          { event: "loop.failed", loop: name, ...errorForLog(error) },
          "a sweep failed; it goes on at the next interval",
        ),
    });

  return {
    actions: {
      receive: (p) => receiveInboundLead(deps, leads, p),
      push: (p, { bus }) => push(pushDeps, bus, p),
      pushMany: (p, { bus }) => pushMany(pushDeps, bus, p),
      abort: (p, { bus }) => abortLeads(deps, leads, bus, p, onFinished),
      get: (p) => read.get(p),
      byRequest: (p) => read.byRequest(p),
      list: (p) => read.list(p),
      summary: (p) => read.summary(p),
      timeline: (p, { bus }) => read.timeline(p, bus),
      explain: (p, { bus }) => read.explain(p, bus),
      join: (p) => read.join(p),
      speak: (p) => read.speak(p),
      recording: (p, { bus }) => read.recording(p, bus),
      unfinished: async (of) => ({ any: await leads.anyUnfinished(of) }),
      heads: (p) => dueQueues(queues, p),
      dueOf: (p) => dueLeads(queues, p),
      expire: (p) => expireLeads(deps, { leads, queues }, p, onFinished),
      async inFlight() {
        const templates = await queues.inFlight();
        return { total: templates.reduce((n, t) => n + t.count, 0), templates };
      },
      claimMany: (p) => moves.claimMany(p),
      drop: (p) => moves.drop(p),
      release: (p) => moves.release(p),
      settle: (p) => moves.settle(p),
      annotate: (p) => moves.annotate(p),
      extend: async (p) => ({
        done: (await leads.transition(machine.renewLease(p, plusSeconds(deps.clock.now(), p.lease_seconds)))) !== null,
      }),
    },
    async started() {
      await queues.dropOldIndexes();
      reports = loop("reports", () => enqueueOwedEvents(deps, leads));
      loops.push(
        reports,
        loop("lost leases", () =>
          recoverExpiredLeases(deps, leads, (lease, facts) => moves.settle({ ...lease, facts })),
        ),
        loop("queues", () => giveMissingQueues(queues)),
      );
    },
    async stopped() {
      await Promise.all(loops.map((l) => l.stop()));
    },
  };
});
