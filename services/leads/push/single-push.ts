import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus.ts";
import { plusSeconds } from "../../../shared/clock.ts";
import { crashPoint } from "../../../shared/crash.ts";
import { fail } from "../../../shared/errors.ts";
import { maskPhone } from "../../../shared/log.ts";
import { checkSameBody, KEY_SECONDS, keyedPush, type KeyedPush } from "./idempotency.ts";
import { announce } from "../queues/queue-notice.ts";
import {
  checkAsked,
  checkListed,
  checkTemplate,
  documentOf,
  messageFor,
  phoneOf,
  questionOf,
  withId,
} from "./lead-document.ts";
import type { LeadDoc } from "../leads.model.ts";
import type { LeadsRepository } from "../leads.repository.ts";
import type { PushKeyDoc } from "./push-keys.model.ts";
import type { PushKeys } from "./push-keys.repository.ts";

/** What pushing stands on. */
export interface Shelf {
  leads: LeadsRepository;
  keys: PushKeys;
}

type Pushed = ResultOf<"leads.push">;
type Params = ParamsOf<"leads.push">;

const notWritten = (): never =>
  fail("STORE_UNAVAILABLE", "the lead could not be written and is not queued; push it again");

/** Every check of a push, then its document; nothing is written. `id` names the lead. */
async function judged(ground: ServiceDeps, bus: Bus, { by, lead }: Params, id: string): Promise<LeadDoc> {
  checkAsked(by, lead);
  const resolved = await bus.call("config.resolveForPush", questionOf(by, lead));
  checkTemplate(by, resolved);
  const phone = phoneOf(lead.payload);
  if (lead.reporting_webhook_url) await bus.call("webhook.checkAddress", { url: lead.reporting_webhook_url });
  if (phone)
    checkListed(
      (await bus.call("blacklist.check", { pairs: [{ reseller_id: lead.reseller_id, phone_number: phone }] }))
        .listed[0],
    );
  return documentOf(id, by, lead, resolved, phone, ground.clock.now());
}

/** The durable write: true when this call made the lead, false when it was there already. STORE_UNAVAILABLE. */
async function write(ground: ServiceDeps, { leads }: Shelf, doc: LeadDoc): Promise<boolean> {
  const [written] = await leads.insert([doc]).catch((error: unknown) => {
    ground.log.error(
      { event: "lead.write_failed", name: error instanceof Error ? error.name : "unknown" },
      "a pushed lead could not be written",
    );
    return notWritten();
  });
  if (written === "failed") notWritten();
  if (written !== "written") return false;
  crashPoint(ground.env, "K0");
  announce(ground, [doc]);
  ground.log.info(
    {
      event: "lead.queued",
      lead_id: doc._id,
      request_id: doc.request_id,
      to: doc.phone_number && maskPhone(doc.phone_number),
      due_at: doc.due_at ?? null,
    },
    "lead queued",
  );
  return true;
}

const answerOf = (lead: Params["lead"], key: Pick<PushKeyDoc, "lead_id" | "message">, replayed: boolean): Pushed => ({
  status: "queued",
  lead_call_tracker_id: key.lead_id,
  order_id: lead.request_id,
  message: key.message,
  replayed,
});

/** The key's document for a lead that is about to be written. */
export const keyDocument = (push: KeyedPush, doc: LeadDoc, now: Date): PushKeyDoc => ({
  _id: push.id,
  body_hash: push.body_hash,
  lead_id: doc._id,
  message: messageFor(doc),
  expires_at: plusSeconds(now, KEY_SECONDS),
});

/** A push under a key: the key is taken first and fixes the lead's id, so that however often it comes, one lead is made. */
async function pushOnce(ground: ServiceDeps, shelf: Shelf, bus: Bus, params: Params, push: KeyedPush): Promise<Pushed> {
  const earlier = (await shelf.keys.find([push.id], ground.clock.now())).get(push.id);
  if (earlier) {
    checkSameBody(earlier, push);
    if ((await shelf.leads.existing([earlier.lead_id])).has(earlier.lead_id))
      return answerOf(params.lead, earlier, true);
  }
  const doc = await judged(ground, bus, params, ground.ids.uuid());
  const now = ground.clock.now();
  const held = (await shelf.keys.reserve([keyDocument(push, doc, now)], now)).get(push.id) ?? notWritten();
  checkSameBody(held, push);
  const made = await write(ground, shelf, withId(doc, held.lead_id));
  return answerOf(params.lead, held, !made);
}

/** POST /leads: every check, then one durable write; nothing is changed when a check fails. */
export async function push(ground: ServiceDeps, shelf: Shelf, bus: Bus, params: Params): Promise<Pushed> {
  const { by, lead, idempotency_key } = params;
  if (idempotency_key !== undefined) return pushOnce(ground, shelf, bus, params, keyedPush(by, idempotency_key, lead));
  const doc = await judged(ground, bus, params, ground.ids.uuid());
  if (!(await write(ground, shelf, doc))) notWritten();
  return answerOf(lead, { lead_id: doc._id, message: messageFor(doc) }, false);
}
