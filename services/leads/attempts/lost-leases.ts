import type { ServiceDeps } from "../../../shared/bus.ts";
import { plusMs, plusSeconds } from "../../../shared/clock.ts";
import { noFacts, type AttemptFacts } from "../../../shared/contracts/attempt.ts";
import { MAX_EVENTS_PER_REQUEST, type WebhookEvent } from "../../../shared/contracts/webhook.ts";
import { crashPoint } from "../../../shared/crash.ts";
import { codeOf, type ErrorCode } from "../../../shared/errors.ts";
import { inSlices } from "../../../shared/in-slices.ts";
import { errorForLog } from "../../../shared/log.ts";
import { MAX_PACKET_BYTES, packets } from "../../../shared/packets.ts";
import { announceQueues } from "../queues/queue-notice.ts";
import { lostFacts } from "./inbound-lead.ts";
import * as machine from "../rules/lead-state-machine.ts";
import { toEventData } from "../lists/lead-views.ts";
import type { LeadDoc } from "../leads.model.ts";
import type { LeadsRepository } from "../leads.repository.ts";

const BATCH = 100;
/** Lost leads looked into side by side: each may wait for a carrier. */
const PARALLEL = 10;
/** How long one sweep keeps a lost lead to itself: longer than dialler.reconcile may take. */
const TAKE_OVER_SECONDS = 30;
const EVENT_RETRY_MS = 5000;
const MESSAGES_AT_ONCE = 2;
/** Failures that say nothing of the reports themselves. */
const UNREACHABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "DEPENDENCY_DOWN",
  "TIMEOUT",
  "STORE_UNAVAILABLE",
  "BUSY",
]);
/** A lead whose holder was lost this often is parked with an error outcome, so that it can't take worker after worker down. */
const MAX_RECOVERIES = 3;

type Settle = (lease: machine.Lease, facts: AttemptFacts) => Promise<unknown>;

async function recoverLead(deps: ServiceDeps, leads: LeadsRepository, lead: LeadDoc, settle: Settle): Promise<void> {
  const lease = { lead_id: lead._id, claim_no: lead.claim_no };
  const now = deps.clock.now();
  if (
    !lead.lease_until ||
    !(await leads.transition(machine.takeOver(lease, lead.lease_until, plusSeconds(now, TAKE_OVER_SECONDS), now)))
  )
    return;
  const answer = await deps.bus.call("dialer.reconcile", lease);
  deps.log.info(
    { event: "lead.recovered", ...lease, verdict: answer.verdict },
    "looked into a lead whose holder went silent",
  );
  if (answer.verdict === "live") {
    await leads.transition(machine.renewLease(lease, plusSeconds(deps.clock.now(), answer.lease_seconds)));
    return;
  }
  if (answer.verdict === "ended") {
    await settle(lease, answer.facts);
    return;
  }
  if (lead.call_direction === "INBOUND") {
    await settle(lease, lostFacts());
    return;
  }
  if (lead.recoveries + 1 >= MAX_RECOVERIES) {
    await settle(lease, {
      ...noFacts("not_dialled"),
      error: { code: "HOLDER_LOST", message: `the attempt was lost before dialling ${MAX_RECOVERIES} times` },
    });
    return;
  }
  const given = await leads.transition(
    machine.release(lease, lead, deps.clock.now(), "holder_lost", deps.clock.now(), true),
  );
  if (given) announceQueues(deps, [given]);
}

/** One pass over leads whose lease ran out. True when there were as many as one pass takes. */
export async function recoverExpiredLeases(
  deps: ServiceDeps,
  leads: LeadsRepository,
  settle: Settle,
): Promise<boolean> {
  const lost = await leads.expiredLeases(deps.clock.now(), BATCH);
  await inSlices(lost, PARALLEL, (lead) =>
    recoverLead(deps, leads, lead, settle).catch((error: unknown) => {
      deps.log.warn(
        { event: "lead.recovery_failed", lead_id: lead._id, ...errorForLog(error) },
        "a lost lead could not be looked into; the next sweep tries again",
      );
    }),
  );
  return lost.length === BATCH;
}

function webhookEventOf(lead: LeadDoc): WebhookEvent | null {
  const url = lead.payload["reporting_webhook_url"];
  if (!lead.report_due_at || typeof url !== "string") return null;
  return {
    lead_id: lead._id,
    reseller_id: lead.reseller_id,
    merchant_id: lead.merchant_id,
    url,
    occurred_at: (lead.finished_at ?? lead.updated_at).toISOString(),
    data: toEventData(lead),
  };
}

const eventBytes = (report: WebhookEvent): number => Buffer.byteLength(JSON.stringify(report));

/** Hands over all or none. What can't be taken as a whole is handed over one by one, so that one bad report holds up no other. */
async function enqueueEvents(
  deps: ServiceDeps,
  leads: LeadsRepository,
  reports: readonly WebhookEvent[],
): Promise<void> {
  const [first, ...others] = reports;
  if (!first) return;
  const ids = reports.map((r) => r.lead_id);
  crashPoint(deps.env, "K10");
  try {
    await deps.bus.call("webhook.enqueueMany", { reports: [...reports] });
    await leads.eventsEnqueued(ids);
  } catch (error) {
    if (others.length > 0 && !UNREACHABLE.has(codeOf(error))) {
      await inSlices(reports, PARALLEL, (report) => enqueueEvents(deps, leads, [report]));
      return;
    }
    deps.log.warn(
      { event: "report.hand_over_failed", lead_id: first.lead_id, leads: ids.length, ...errorForLog(error) },
      "reports could not be handed to the webhook service; they stay owed",
    );
    await leads.postponeEvents(ids, plusMs(deps.clock.now(), EVENT_RETRY_MS));
  }
}

/** One pass over finished leads that still owe their report: handing over is acknowledged, so none is lost. */
export async function enqueueOwedEvents(deps: ServiceDeps, leads: LeadsRepository): Promise<boolean> {
  const owed = await leads.owedEvents(deps.clock.now(), BATCH);
  const reports = owed.map(webhookEventOf).filter((r): r is WebhookEvent => r !== null);
  await inSlices(packets(reports, eventBytes, MAX_PACKET_BYTES, MAX_EVENTS_PER_REQUEST), MESSAGES_AT_ONCE, (some) =>
    enqueueEvents(deps, leads, some),
  );
  return owed.length === BATCH;
}
