import pLimit from "p-limit";
import { plusSeconds } from "../../../shared/time/clock.ts";
import type { AttemptFacts, PlacedCall } from "../../../shared/contracts/records/attempt.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { announceQueues } from "../queues/queue-notice.ts";
import type { LeadDeps } from "../deps.ts";
import { releaseForFault, settle } from "./attempt-transitions.ts";
import { isInboundCall, lostFacts } from "./inbound-lead.ts";
import * as machine from "../rules/lead-state-machine.ts";
import type { LeadState } from "../leads.model.ts";

const BATCH = 100;
/** Leads recovered at once: each may wait for a carrier. */
const PARALLEL = 10;
/** Lease of the sweep on a lead it recovers: longer than dialer.reconcile may take. */
const TAKE_OVER_SECONDS = 30;
/** A lead whose lease expired this often before dialling is parked, so that it can't crash one worker after another. */
const PARKED_AFTER_RECOVERIES = 3;

async function recoverLead(deps: LeadDeps, lead: LeadState): Promise<void> {
  const { bus, clock, leads, log, metrics } = deps;
  const settleAs = (facts: AttemptFacts, placed?: PlacedCall) =>
    settle(deps, { ...lease, facts, ...(placed && { placed }) });
  const lease = { lead_id: lead._id, claim_no: lead.claim_no };
  const now = clock.now();
  if (
    !lead.lease_until ||
    !(await leads.transition(machine.takeOver(lease, lead.lease_until, plusSeconds(now, TAKE_OVER_SECONDS), now)))
  )
    return;
  const answer = await bus.call("dialer.reconcile", lease);
  metrics.count("callagent_leases_lapsed_total", { verdict: answer.verdict });
  log.info({ event: "lead.recovered", ...lease, verdict: answer.verdict }, "recovered a lead whose lease ran out");
  if (answer.verdict === "live") {
    await leads.transition(machine.renewLease(lease, plusSeconds(clock.now(), answer.lease_seconds)));
    return;
  }
  if (answer.verdict === "ended") {
    await settleAs(answer.facts, answer.placed);
    return;
  }
  if (isInboundCall(lead)) {
    await settleAs(lostFacts());
    return;
  }
  // a session waits for its client either way, and nobody is called by parking it
  if (lead.join_by === undefined && lead.recoveries + 1 >= PARKED_AFTER_RECOVERIES) {
    await releaseForFault(deps, lease, lead, { code: "HOLDER_LOST", reason: "holder_lost", recovered: true });
    return;
  }
  const due = clock.now();
  const released = await leads.transition(machine.recover(lease, lead, due, "holder_lost", due));
  if (released) announceQueues(deps, [released]);
}

/** One pass over leads whose lease expired. True when there were as many as one pass takes. */
export async function recoverExpiredLeases(deps: LeadDeps): Promise<boolean> {
  const lost = await deps.leads.expiredLeases(deps.clock.now(), BATCH);
  await pLimit(PARALLEL).map(lost, (lead) =>
    recoverLead(deps, lead).catch((error: unknown) => {
      deps.log.warn(
        { event: "lead.recovery_failed", lead_id: lead._id, ...errorForLog(error) },
        "a lead whose lease ran out could not be recovered; the next sweep tries again",
      );
    }),
  );
  return lost.length === BATCH;
}
