import { fitting } from "../../../shared/batching.ts";
import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { DEFAULT_PAGE, scopeOf, type Scope } from "../../../shared/contracts/records/identity.ts";
import { fail } from "../../../shared/errors.ts";
import { leadFor } from "../lists/lead-queries.ts";
import type { LeadsRepository } from "../leads.repository.ts";
import type { EventLog } from "./event-log.repository.ts";
import { toCloudEvent } from "./published-event.ts";

/** What reading events needs. */
export interface EventQueryDeps {
  leads: LeadsRepository;
  events: EventLog;
}
type Page = ResultOf<"leads.eventsAfter">;

const CURSOR = /^(?:0|[1-9][0-9]{0,14})$/;

/** The number that a cursor stands for. VALIDATION_FAILED. */
function numberOf(cursor: string): number {
  return CURSOR.test(cursor)
    ? Number(cursor)
    : fail(
        "VALIDATION_FAILED",
        "The cursor is not one this service gave out; leave it out to begin with the oldest event.",
        {
          errors: [{ path: "after", message: "is not a cursor of this list" }],
        },
      );
}

/** GET /leads/{lead_id}/events. LEAD_NOT_FOUND, VALIDATION_FAILED. */
export async function eventsOf(
  { leads, events }: EventQueryDeps,
  { by, lead_id, after = "0", limit = DEFAULT_PAGE }: ParamsOf<"leads.events">,
): Promise<ResultOf<"leads.events">> {
  const from = numberOf(after);
  const { _id, event_seq = 0 } = await leadFor({ leads }, by, lead_id);
  const found = (await events.ofLead(_id, from, limit + 1, event_seq)).map((entry) => ({
    cursor: String(entry.seq),
    event: toCloudEvent(entry),
  }));
  const shown = fitting(found.slice(0, limit));
  return {
    lead_id: _id,
    events: shown,
    next_cursor: shown.at(-1)?.cursor ?? after,
    more: found.length > shown.length,
    expired: (shown[0]?.event.seq ?? from + 1) > from + 1,
  };
}

/** Events of a scope behind a position. What is given ends where the log ended before it was read, so that nothing is passed over. */
async function page(events: EventLog, scope: Scope, after: number | null, limit: number): Promise<Page> {
  const last = await events.last();
  if (after === null || after >= last)
    return { events: [], next: Math.max(after ?? 0, last), more: false, expired: false };
  const [found, first] = await Promise.all([events.between(scope, after, last, limit + 1), events.first()]);
  const all = found.slice(0, limit).map((entry) => ({ position: entry.position, event: toCloudEvent(entry) }));
  const shown = fitting(all);
  const more = found.length > shown.length;
  return {
    events: shown,
    next: more ? (shown.at(-1)?.position ?? after) : last,
    more,
    expired: first !== null && first > after + 1,
  };
}

/** GET /events: of the asker's scope. VALIDATION_FAILED. */
export async function listEvents(
  { events }: Pick<EventQueryDeps, "events">,
  { by, after = "0", limit = DEFAULT_PAGE }: ParamsOf<"leads.listEvents">,
): Promise<ResultOf<"leads.listEvents">> {
  const { events: found, next, more, expired } = await page(events, scopeOf(by), numberOf(after), limit);
  return {
    events: found.map(({ position, event }) => ({ cursor: String(position), event })),
    next_cursor: String(next),
    more,
    // who begins with the oldest has missed none
    expired: expired && numberOf(after) > 0,
  };
}

/** For consumers inside. */
export const eventsAfter = (
  { events }: Pick<EventQueryDeps, "events">,
  { after, limit = DEFAULT_PAGE, reseller_id, merchant_id }: ParamsOf<"leads.eventsAfter">,
): Promise<Page> => page(events, { reseller_id: reseller_id ?? null, merchant_id: merchant_id ?? null }, after, limit);
