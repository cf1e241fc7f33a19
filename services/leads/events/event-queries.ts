import { fitting } from "../../../shared/batching.ts";
import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { DEFAULT_PAGE, scopeOf, type Scope } from "../../../shared/contracts/records/identity.ts";
import { fail } from "../../../shared/errors.ts";
import { FROM_NOW_ON } from "../../../shared/contracts/events/event-actions.ts";
import { leadFor } from "../lists/lead-queries.ts";
import type { LeadsRepository } from "../leads.repository.ts";
import type { EventLog } from "./event-log.repository.ts";
import type { Recent } from "./log-tail.ts";
import { toCloudEvent } from "./published-event.ts";

/** What reading events needs. */
export interface EventQueryDeps {
  leads: LeadsRepository;
  events: EventLog;
}
type Page = ResultOf<"leads.eventsAfter">;

/** What the cursors of a list begin with, so that none is taken for one of the other: `log` has positions in it, `lead` numbers of a lead's events. */
const LISTS = { log: "p", lead: "s" } as const;
type List = keyof typeof LISTS;
const DIGITS = 36;

/** A number as a word that means nothing to who reads on by it (base64url). */
const cursorOf = (list: List, n: number): string =>
  Buffer.from(`${LISTS[list]}${n.toString(DIGITS)}`, "utf8").toString("base64url");

/** The number that a cursor stands for; 0 where there is none. VALIDATION_FAILED. */
function numberOf(list: List, cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const n = Number.parseInt(Buffer.from(cursor, "base64url").toString("utf8").slice(1), DIGITS);
  return Number.isSafeInteger(n) && cursorOf(list, n) === cursor
    ? n
    : fail(
        "VALIDATION_FAILED",
        "The cursor is not one this list gave out; leave it out to begin with the oldest event.",
        { errors: [{ path: "after", message: "is not a cursor of this list" }] },
      );
}

/** GET /leads/{lead_id}/events. LEAD_NOT_FOUND, VALIDATION_FAILED. */
export async function eventsOf(
  { leads, events }: EventQueryDeps,
  { by, lead_id, after, limit = DEFAULT_PAGE }: ParamsOf<"leads.events">,
): Promise<ResultOf<"leads.events">> {
  const { _id, event_seq = 0 } = await leadFor({ leads }, by, lead_id);
  const from = after === FROM_NOW_ON ? event_seq : numberOf("lead", after);
  const found = (await events.ofLead(_id, from, limit + 1, event_seq)).map((entry) => ({
    cursor: cursorOf("lead", entry.seq),
    event: toCloudEvent(entry),
  }));
  const shown = fitting(found.slice(0, limit));
  return {
    lead_id: _id,
    events: shown,
    next_cursor: shown.at(-1)?.cursor ?? cursorOf("lead", from),
    more: found.length > shown.length,
    expired: (shown[0]?.event.seq ?? from + 1) > from + 1,
  };
}

/** A page of what was found behind `after`, where one entry more than `limit` was sought. `first`: the first position that is kept. */
function pageOf({ found, last }: Recent, after: number, limit: number, first: number | null): Page {
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

/** Events of a scope behind a position. What is given ends where the log ended before it was read, so that nothing is passed over. */
async function page(events: EventLog, scope: Scope, after: number | null, limit: number): Promise<Page> {
  const recent = after === null ? null : events.recent(scope, after, limit + 1);
  if (after !== null && recent !== null) return pageOf(recent, after, limit, null);
  const last = await events.last();
  if (after === null || after >= last)
    return { events: [], next: Math.max(after ?? 0, last), more: false, expired: false };
  const [found, first] = await Promise.all([events.between(scope, after, last, limit + 1), events.first()]);
  return pageOf({ found, last }, after, limit, first);
}

/** GET /events: of the asker's scope. VALIDATION_FAILED. */
export async function listEvents(
  { events }: Pick<EventQueryDeps, "events">,
  { by, after, limit = DEFAULT_PAGE }: ParamsOf<"leads.listEvents">,
): Promise<ResultOf<"leads.listEvents">> {
  const from = after === FROM_NOW_ON ? null : numberOf("log", after);
  const { events: found, next, more, expired } = await page(events, scopeOf(by), from, limit);
  return {
    events: found.map(({ position, event }) => ({ cursor: cursorOf("log", position), event })),
    next_cursor: cursorOf("log", next),
    more,
    // who begins with the oldest, or with what is to come, has missed none
    expired: expired && from !== null && from > 0,
  };
}

/** For consumers inside. */
export const eventsAfter = (
  { events }: Pick<EventQueryDeps, "events">,
  { after, limit = DEFAULT_PAGE, reseller_id, merchant_id }: ParamsOf<"leads.eventsAfter">,
): Promise<Page> => page(events, { reseller_id: reseller_id ?? null, merchant_id: merchant_id ?? null }, after, limit);
