import { service } from "../../shared/bus.ts";
import { plusSeconds } from "../../shared/clock.ts";
import { errorForLog } from "../../shared/log.ts";
import { startLoop, type Loop } from "../../shared/loop.ts";
import { abort } from "./abort.ts";
import { attempts } from "./attempts/attempt-transitions.ts";
import * as machine from "./rules/lead-state-machine.ts";
import type { FinishedDoc } from "./lists/lead-views.ts";
import { leadSchema } from "./leads.model.ts";
import { leadsRepository } from "./leads.repository.ts";
import { pushKeySchema } from "./push/push-keys.model.ts";
import { pushKeysRepository } from "./push/push-keys.repository.ts";
import { push, pushMany } from "./push/push.ts";
import { dueOf, expire, heads, sweepQueueless } from "./queues/due-queues.ts";
import { queuesRepository } from "./queues/queues.repository.ts";
import { reading } from "./lists/lead-queries.ts";
import { receive } from "./attempts/inbound-receipt.ts";
import { sweepLost, sweepReports } from "./attempts/lost-leases.ts";

/** Leads: the queue, the machine, the record (interface.md 2.1–2.4, 3.1, 4.2). */
export default service("leads", (ground) => {
  const model = ground.store().model("leads", leadSchema);
  const leads = leadsRepository(model, ground.ids);
  const queues = queuesRepository(model);
  const pushDeps = { ...ground, leads, keys: pushKeysRepository(ground.store().model("push_keys", pushKeySchema)) };
  const read = reading(ground, leads);
  const loops: Loop[] = [];
  let reports: Loop | null = null;

  const onFinished = (lead: FinishedDoc): void => {
    ground.bus.emit("lead.finished", { lead_id: lead._id, outcome: lead.outcome ?? "" });
    ground.log.info(
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
  const moves = attempts(ground, leads, onFinished);
  const loop = (name: string, pass: () => Promise<boolean>): Loop =>
    startLoop({
      name,
      clock: ground.clock,
      intervalMs: ground.env.SWEEP_INTERVAL_MS,
      pass,
      onError: (error) =>
        ground.log.error(
          { event: "loop.failed", loop: name, ...errorForLog(error) },
          "a sweep failed; it goes on at the next interval",
        ),
    });

  return {
    actions: {
      receive: (p) => receive(ground, leads, p),
      push: (p, { bus }) => push(pushDeps, bus, p),
      pushMany: (p, { bus }) => pushMany(pushDeps, bus, p),
      abort: (p, { bus }) => abort(ground, leads, bus, p, onFinished),
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
      heads: (p) => heads(queues, p),
      dueOf: (p) => dueOf(queues, p),
      expire: (p) => expire(ground, { leads, queues }, p, onFinished),
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
        done: (await leads.transition(machine.extend(p, plusSeconds(ground.clock.now(), p.lease_seconds)))) !== null,
      }),
    },
    async started() {
      await queues.dropOldIndexes();
      reports = loop("reports", () => sweepReports(ground, leads));
      loops.push(
        reports,
        loop("lost leases", () => sweepLost(ground, leads, (baton, facts) => moves.settle({ ...baton, facts }))),
        loop("queues", () => sweepQueueless(queues)),
      );
    },
    async stopped() {
      await Promise.all(loops.map((l) => l.stop()));
    },
  };
});
