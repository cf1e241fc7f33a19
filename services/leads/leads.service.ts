import { service } from "../../shared/bus.ts";
import { plusSeconds } from "../../shared/clock.ts";
import { scopeOf } from "../../shared/contracts/identity.ts";
import type { DueLead } from "../../shared/contracts/lead.ts";
import { fail } from "../../shared/errors.ts";
import { isUuid } from "../../shared/ids.ts";
import { errorForLog } from "../../shared/log.ts";
import { startLoop, type Loop } from "../../shared/loop.ts";
import { pageFilter, pageOf, pageSize } from "../../shared/page.ts";
import { abort } from "./aborting.ts";
import { attempts } from "./attempts.ts";
import * as machine from "./lead-machine.ts";
import { toDue, toRecord, toSummary } from "./lead-views.ts";
import { leadSchema, type LeadDoc } from "./leads.model.ts";
import { leadsRepository } from "./leads.repository.ts";
import { push } from "./push.ts";
import { sweepLost, sweepReports } from "./sweep.ts";

const MAX_LEADS_PER_REQUEST_ID = 1000;
/** Deferrals written side by side. */
const PARALLEL = 25;

/** Leads: the queue, the machine, the record (interface.md 2.1–2.4, 3.1, 4.2). */
export default service("leads", (ground) => {
  const leads = leadsRepository(ground.store().model("leads", leadSchema));
  const loops: Loop[] = [];
  let reports: Loop | null = null;

  const onFinished = (lead: LeadDoc): void => {
    ground.bus.emit("lead.finished", { lead_id: lead._id, outcome: lead.outcome ?? "" });
    ground.log.info({ event: "lead.finished", lead_id: lead._id, request_id: lead.request_id, outcome: lead.outcome, attempts: lead.attempt_count }, "lead finished");
    reports?.nudge();
  };
  const moves = attempts(ground, leads, onFinished);
  const loop = (name: string, pass: () => Promise<boolean>): Loop => startLoop({
    name, clock: ground.clock, intervalMs: ground.env.SWEEP_INTERVAL_MS, pass,
    onError: (error) => ground.log.error({ event: "loop.failed", loop: name, ...errorForLog(error) }, "a sweep failed; it goes on at the next interval"),
  });

  return {
    actions: {
      push: (p) => push(ground, leads, p),
      abort: (p) => abort(ground, leads, p, onFinished),
      async get({ by, lead_id }) {
        const lead = isUuid(lead_id) ? await leads.byId(scopeOf(by), lead_id) : null;
        return lead ? toRecord(lead) : fail("LEAD_NOT_FOUND", "no lead with this id was found");
      },
      async byRequest({ by, request_id }) {
        const found = await leads.byRequest(scopeOf(by), request_id, MAX_LEADS_PER_REQUEST_ID);
        if (found.length === 0) fail("LEAD_NOT_FOUND", "no lead with this request_id was found");
        return { request_id, count: found.length, leads: found.map(toSummary) };
      },
      async list({ by, limit, cursor, ...filter }) {
        const { items, next_cursor } = pageOf(await leads.page(scopeOf(by), filter, { ...pageFilter(cursor) }, pageSize(limit)), limit);
        return { count: items.length, leads: items.map(toSummary), next_cursor };
      },
      unfinished: async (of) => ({ any: await leads.anyUnfinished(of) }),
      async due({ limit }) {
        const found = await leads.due(ground.clock.now(), limit);
        return { leads: found.map(toDue).filter((d): d is DueLead => d !== null) };
      },
      async defer({ items }) {
        let deferred = 0;
        for (let i = 0; i < items.length; i += PARALLEL) {
          const moved = await Promise.all(items.slice(i, i + PARALLEL).map((x) =>
            leads.move(machine.defer({ lead_id: x.lead_id, due_at: new Date(x.due_at) }, new Date(x.until), x.why, ground.clock.now()))));
          deferred += moved.filter((m) => m !== null).length;
        }
        return { deferred };
      },
      claim: (p) => moves.claim(p),
      drop: (p) => moves.drop(p),
      release: (p) => moves.release(p),
      settle: (p) => moves.settle(p),
      annotate: (p) => moves.annotate(p),
      async extend(p) {
        return { done: await leads.move(machine.extend(p, plusSeconds(ground.clock.now(), p.lease_seconds))) !== null };
      },
    },
    started() {
      reports = loop("reports", () => sweepReports(ground, leads));
      loops.push(reports, loop("lost leases", () => sweepLost(ground, leads, (baton, facts) => moves.settle({ ...baton, facts }))));
    },
    async stopped() { await Promise.all(loops.map((l) => l.stop())); },
  };
});
