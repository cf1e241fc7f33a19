import type { ServiceGround } from "../../shared/bus.ts";
import { plusMs, plusSeconds } from "../../shared/clock.ts";
import { noFacts, type AttemptFacts } from "../../shared/contracts/attempt.ts";
import { crashPoint } from "../../shared/crash.ts";
import { inSlices } from "../../shared/in-slices.ts";
import { errorForLog } from "../../shared/log.ts";
import { announce } from "./announcing.ts";
import * as machine from "./lead-machine.ts";
import { toReport } from "./lead-views.ts";
import type { LeadDoc } from "./leads.model.ts";
import type { LeadsRepository } from "./leads.repository.ts";

const BATCH = 100;
/** Lost leads looked into side by side: each may wait for a carrier. */
const PARALLEL = 10;
/** How long one sweep keeps a lost lead to itself: longer than dialler.reconcile may take. */
const TAKE_OVER_SECONDS = 30;
const REPORT_RETRY_MS = 5000;
/** A lead whose holder was lost this often is parked with an error outcome, so that it can't take worker after worker down. */
const MAX_RECOVERIES = 3;

type Settle = (baton: machine.Baton, facts: AttemptFacts) => Promise<unknown>;

async function recover(ground: ServiceGround, leads: LeadsRepository, lead: LeadDoc, settle: Settle): Promise<void> {
  const baton = { lead_id: lead._id, claim_no: lead.claim_no };
  const now = ground.clock.now();
  if (!lead.lease_until || !await leads.move(machine.takeOver(baton, lead.lease_until, plusSeconds(now, TAKE_OVER_SECONDS), now))) return;
  const answer = await ground.bus.call("dialer.reconcile", baton);
  ground.log.info({ event: "lead.recovered", ...baton, verdict: answer.verdict }, "looked into a lead whose holder went silent");
  if (answer.verdict === "live") { await leads.move(machine.extend(baton, plusSeconds(ground.clock.now(), answer.lease_seconds))); return; }
  if (answer.verdict === "ended") { await settle(baton, answer.facts); return; }
  if (lead.recoveries + 1 >= MAX_RECOVERIES) {
    await settle(baton, { ...noFacts("not_dialled"), error: { code: "HOLDER_LOST", message: `the attempt was lost before dialling ${MAX_RECOVERIES} times` } });
    return;
  }
  const given = await leads.move(machine.release(baton, lead, ground.clock.now(), "holder_lost", ground.clock.now(), true));
  if (given) announce(ground, [given]);
}

/** One pass over leads whose lease ran out. True when there were as many as one pass takes. */
export async function sweepLost(ground: ServiceGround, leads: LeadsRepository, settle: Settle): Promise<boolean> {
  const lost = await leads.lostLeases(ground.clock.now(), BATCH);
  await inSlices(lost, PARALLEL, (lead) => recover(ground, leads, lead, settle).catch((error: unknown) => {
    ground.log.warn({ event: "lead.recovery_failed", lead_id: lead._id, ...errorForLog(error) }, "a lost lead could not be looked into; the next sweep tries again");
  }));
  return lost.length === BATCH;
}

async function handOver(ground: ServiceGround, leads: LeadsRepository, lead: LeadDoc): Promise<void> {
  const { report_due_at, payload } = lead;
  const url = payload["reporting_webhook_url"];
  if (!report_due_at || typeof url !== "string") return;
  crashPoint(ground.env, "K10");
  try {
    await ground.bus.call("webhook.enqueue", {
      lead_id: lead._id, reseller_id: lead.reseller_id, merchant_id: lead.merchant_id, url, occurred_at: (lead.finished_at ?? lead.updated_at).toISOString(), data: toReport(lead),
    });
    await leads.reportTaken(lead._id, report_due_at);
  } catch (error) {
    ground.log.warn({ event: "report.hand_over_failed", lead_id: lead._id, ...errorForLog(error) }, "a report could not be handed to the webhook service; it stays owed");
    await leads.reportLater(lead._id, report_due_at, plusMs(ground.clock.now(), REPORT_RETRY_MS));
  }
}

/** One pass over finished leads that still owe their report: handing over is acknowledged, so none is lost. */
export async function sweepReports(ground: ServiceGround, leads: LeadsRepository): Promise<boolean> {
  const owed = await leads.owedReports(ground.clock.now(), BATCH);
  await inSlices(owed, PARALLEL, (lead) => handOver(ground, leads, lead));
  return owed.length === BATCH;
}
