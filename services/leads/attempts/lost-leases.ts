import type { ServiceDeps } from "../../../shared/bus.ts";
import { plusMs, plusSeconds } from "../../../shared/clock.ts";
import { noFacts, type AttemptFacts } from "../../../shared/contracts/attempt.ts";
import { REPORTS_AT_ONCE, type Report } from "../../../shared/contracts/webhook.ts";
import { crashPoint } from "../../../shared/crash.ts";
import { codeOf, type ErrorCode } from "../../../shared/errors.ts";
import { inSlices } from "../../../shared/in-slices.ts";
import { errorForLog } from "../../../shared/log.ts";
import { MAX_PACKET_BYTES, packets } from "../../../shared/packets.ts";
import { announce } from "../queues/queue-notice.ts";
import { lostFacts } from "./inbound-lead.ts";
import * as machine from "../rules/lead-state-machine.ts";
import { toReport } from "../lists/lead-views.ts";
import type { LeadDoc } from "../leads.model.ts";
import type { LeadsRepository } from "../leads.repository.ts";

const BATCH = 100;
/** Lost leads looked into side by side: each may wait for a carrier. */
const PARALLEL = 10;
/** How long one sweep keeps a lost lead to itself: longer than dialler.reconcile may take. */
const TAKE_OVER_SECONDS = 30;
const REPORT_RETRY_MS = 5000;
const MESSAGES_AT_ONCE = 2;
/** Failures that say nothing of the reports themselves. */
const AWAY: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["DEPENDENCY_DOWN", "TIMEOUT", "STORE_UNAVAILABLE", "BUSY"]);
/** A lead whose holder was lost this often is parked with an error outcome, so that it can't take worker after worker down. */
const MAX_RECOVERIES = 3;

type Settle = (baton: machine.Baton, facts: AttemptFacts) => Promise<unknown>;

async function recover(ground: ServiceDeps, leads: LeadsRepository, lead: LeadDoc, settle: Settle): Promise<void> {
  const baton = { lead_id: lead._id, claim_no: lead.claim_no };
  const now = ground.clock.now();
  if (
    !lead.lease_until ||
    !(await leads.transition(machine.takeOver(baton, lead.lease_until, plusSeconds(now, TAKE_OVER_SECONDS), now)))
  )
    return;
  const answer = await ground.bus.call("dialer.reconcile", baton);
  ground.log.info(
    { event: "lead.recovered", ...baton, verdict: answer.verdict },
    "looked into a lead whose holder went silent",
  );
  if (answer.verdict === "live") {
    await leads.transition(machine.extend(baton, plusSeconds(ground.clock.now(), answer.lease_seconds)));
    return;
  }
  if (answer.verdict === "ended") {
    await settle(baton, answer.facts);
    return;
  }
  if (lead.call_direction === "INBOUND") {
    await settle(baton, lostFacts());
    return;
  }
  if (lead.recoveries + 1 >= MAX_RECOVERIES) {
    await settle(baton, {
      ...noFacts("not_dialled"),
      error: { code: "HOLDER_LOST", message: `the attempt was lost before dialling ${MAX_RECOVERIES} times` },
    });
    return;
  }
  const given = await leads.transition(
    machine.release(baton, lead, ground.clock.now(), "holder_lost", ground.clock.now(), true),
  );
  if (given) announce(ground, [given]);
}

/** One pass over leads whose lease ran out. True when there were as many as one pass takes. */
export async function sweepLost(ground: ServiceDeps, leads: LeadsRepository, settle: Settle): Promise<boolean> {
  const lost = await leads.lostLeases(ground.clock.now(), BATCH);
  await inSlices(lost, PARALLEL, (lead) =>
    recover(ground, leads, lead, settle).catch((error: unknown) => {
      ground.log.warn(
        { event: "lead.recovery_failed", lead_id: lead._id, ...errorForLog(error) },
        "a lost lead could not be looked into; the next sweep tries again",
      );
    }),
  );
  return lost.length === BATCH;
}

function reportOf(lead: LeadDoc): Report | null {
  const url = lead.payload["reporting_webhook_url"];
  if (!lead.report_due_at || typeof url !== "string") return null;
  return {
    lead_id: lead._id,
    reseller_id: lead.reseller_id,
    merchant_id: lead.merchant_id,
    url,
    occurred_at: (lead.finished_at ?? lead.updated_at).toISOString(),
    data: toReport(lead),
  };
}

const reportBytes = (report: Report): number => Buffer.byteLength(JSON.stringify(report));

/** Hands over all or none. What can't be taken as a whole is handed over one by one, so that one bad report holds up no other. */
async function handOver(ground: ServiceDeps, leads: LeadsRepository, reports: readonly Report[]): Promise<void> {
  const [first, ...others] = reports;
  if (!first) return;
  const ids = reports.map((r) => r.lead_id);
  crashPoint(ground.env, "K10");
  try {
    await ground.bus.call("webhook.enqueueMany", { reports: [...reports] });
    await leads.reportsTaken(ids);
  } catch (error) {
    if (others.length > 0 && !AWAY.has(codeOf(error))) {
      await inSlices(reports, PARALLEL, (report) => handOver(ground, leads, [report]));
      return;
    }
    ground.log.warn(
      { event: "report.hand_over_failed", lead_id: first.lead_id, leads: ids.length, ...errorForLog(error) },
      "reports could not be handed to the webhook service; they stay owed",
    );
    await leads.reportsLater(ids, plusMs(ground.clock.now(), REPORT_RETRY_MS));
  }
}

/** One pass over finished leads that still owe their report: handing over is acknowledged, so none is lost. */
export async function sweepReports(ground: ServiceDeps, leads: LeadsRepository): Promise<boolean> {
  const owed = await leads.owedReports(ground.clock.now(), BATCH);
  const reports = owed.map(reportOf).filter((r): r is Report => r !== null);
  await inSlices(packets(reports, reportBytes, MAX_PACKET_BYTES, REPORTS_AT_ONCE), MESSAGES_AT_ONCE, (some) =>
    handOver(ground, leads, some),
  );
  return owed.length === BATCH;
}
