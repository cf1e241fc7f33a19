import pLimit from "p-limit";
import type { ServiceDeps } from "../../shared/bus/bus.ts";
import { chunks } from "../../shared/batching.ts";
import { plusMs } from "../../shared/time/clock.ts";
import { MAX_EVENTS_PER_REQUEST, type WebhookEvent } from "../../shared/contracts/webhook.ts";
import { crashPoint } from "../../shared/process/crash.ts";
import { codeOf, isOutOfReach } from "../../shared/errors.ts";
import { errorForLog, maskPhone } from "../../shared/process/log.ts";
import type { LeadsRepository, OwedDoc } from "./leads.repository.ts";
import { toEventData } from "./lists/lead-views.ts";

const BATCH = 100;
/** Requests to the webhook service at once. */
const REQUESTS_AT_ONCE = 2;
/** Events of a refused request that are sent alone, at once. */
const SINGLES_AT_ONCE = 10;
const RETRY_MS = 5000;

interface EventDeps extends Pick<ServiceDeps, "bus" | "clock" | "env" | "log"> {
  leads: LeadsRepository;
}

function webhookEventOf(lead: OwedDoc): WebhookEvent | null {
  const url = lead.payload?.reporting_webhook_url;
  if (!lead.report_due_at || typeof url !== "string") return null;
  return {
    lead_id: lead._id,
    reseller_id: lead.reseller_id,
    merchant_id: lead.merchant_id,
    url,
    occurred_at: (lead.finished_at ?? lead.updated_at).toISOString(),
    data: toEventData(lead, lead.phone_number && maskPhone(lead.phone_number)),
    phone_number: lead.phone_number,
    ...(lead.trace === undefined ? {} : { trace: lead.trace }),
  };
}

const eventBytes = (event: WebhookEvent): number => Buffer.byteLength(JSON.stringify(event));

/** Hands over all events or none. A refused request is sent again one event at a time, so that one invalid event delays no other. */
async function enqueueEvents(deps: EventDeps, events: readonly WebhookEvent[]): Promise<void> {
  const [first, ...others] = events;
  if (!first) return;
  const ids = events.map((event) => event.lead_id);
  crashPoint(deps.env, "K10");
  try {
    await deps.bus.call("webhook.enqueueMany", { reports: [...events] });
    await deps.leads.eventsEnqueued(ids);
  } catch (error) {
    if (others.length > 0 && !isOutOfReach(codeOf(error))) {
      await pLimit(SINGLES_AT_ONCE).map(events, (event) => enqueueEvents(deps, [event]));
      return;
    }
    deps.log.warn(
      { event: "report.hand_over_failed", lead_id: first.lead_id, leads: ids.length, ...errorForLog(error) },
      "webhook events could not be handed over; they stay owed",
    );
    await deps.leads.postponeEvents(ids, plusMs(deps.clock.now(), RETRY_MS));
  }
}

/** One pass over finished leads that owe their webhook event: handing over is acknowledged, so none is lost. True when there were as many as one pass takes. */
export async function enqueueOwedEvents(deps: EventDeps): Promise<boolean> {
  const owed = await deps.leads.owedEvents(deps.clock.now(), BATCH);
  const events = owed.map(webhookEventOf).filter((event) => event !== null);
  const requests = chunks(events, { maxItems: MAX_EVENTS_PER_REQUEST, bytesOf: eventBytes });
  await pLimit(REQUESTS_AT_ONCE).map(requests, (some) => enqueueEvents(deps, some));
  return owed.length === BATCH;
}
