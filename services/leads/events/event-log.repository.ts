import type { Model } from "mongoose";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { appendEach } from "../../../shared/database/write-batches.ts";
import { withoutNumber } from "../../../shared/privacy/erased-text.ts";
import { MAX_PAGE_EVENTS, type LogEntry, type LogPage } from "./event-log.model.ts";

/** Reads and writes of the log of events. */
export interface EventLog {
  /** The number of the last event in the log of each of these leads that has one there. */
  known(lead_ids: readonly string[]): Promise<Map<string, number>>;
  /** The last position; 0: the log is empty. */
  last(): Promise<number>;
  /** The first position that is still kept; null: the log is empty. */
  first(): Promise<number | null>;
  /**
   * Appends in this order, behind the last position that the caller knew before it asked which events are `known`. False: another process has written
   * there, so that only a beginning of them is in the log, by this process or that.
   */
  append(entries: readonly LogEntry[]): Promise<boolean>;
  /** Entries behind `after`, up to `to`, in the order of their positions. */
  between(scope: Scope, after: number, to: number, limit: number): Promise<LogEntry[]>;
  /** Events of a lead behind a number, in order; `last`: the number of its last event, so that no more is read than may be there. */
  ofLead(lead_id: string, after: number, limit: number, last: number): Promise<LogEntry[]>;
  /** Takes a number, which is masked, from the events of a lead; how many had one. */
  erase(lead_id: string, e164: string): Promise<number>;
}

/** Pages of one read. */
const PAGES_PER_READ = 20;

/** The events of a page with their positions. */
const entriesOf = ({ _id: first, reseller_id, merchant_id, events, expires_at }: LogPage): LogEntry[] =>
  events.map((event, i) => ({
    _id: `${event.subject}.${event.seq}`,
    position: first + i,
    ...event,
    reseller_id,
    merchant_id,
    expires_at,
  }));

/** Whether an event may stand on the page behind those that are there. */
const fits = (page: LogPage, { position, reseller_id, merchant_id }: LogEntry): boolean =>
  page.events.length < MAX_PAGE_EVENTS &&
  position === page._id + page.events.length &&
  reseller_id === page.reseller_id &&
  merchant_id === page.merchant_id;

/** Entries as pages, in their order. */
function pagesOf(entries: readonly LogEntry[]): LogPage[] {
  const pages: LogPage[] = [];
  for (const entry of entries) {
    const { position, subject, seq, type, at, reseller_id, merchant_id, template_id, data, expires_at } = entry;
    let page = pages.at(-1);
    if (page === undefined || !fits(page, entry)) {
      page = { _id: position, reseller_id, merchant_id, lead_ids: [], events: [], expires_at };
      pages.push(page);
    }
    page.events.push({ subject, seq, type, at, template_id, data });
    if (!page.lead_ids.includes(subject)) page.lead_ids.push(subject);
  }
  return pages;
}

/** The updates by which a number is taken from the events of a lead on a page, and how many had it. */
function withoutPerson(
  { events }: LogPage,
  lead_id: string,
  e164: string,
): { set: Record<string, unknown>; n: number } {
  const set: Record<string, unknown> = {};
  let n = 0;
  events.forEach(({ subject, data }, i) => {
    if (subject !== lead_id || (data["phone_number"] ?? null) === null) return;
    n++;
    set[`events.${i}.data.phone_number`] = null;
    const { request_id } = data;
    if (typeof request_id === "string") set[`events.${i}.data.request_id`] = withoutNumber(request_id, e164);
  });
  return { set, n };
}

/** Reads by position. */
function byPosition(model: Model<LogPage>): Pick<EventLog, "last" | "first" | "between"> {
  const edge = (direction: 1 | -1) => model.findOne().sort({ _id: direction }).lean<LogPage>();
  /** The page of the scope that begins at or before a position, and may reach behind it. */
  const around = (scope: Scope, position: number) =>
    model
      .findOne({ ...within(scope), _id: { $gt: position - MAX_PAGE_EVENTS, $lte: position } })
      .sort({ _id: -1 })
      .lean<LogPage>();
  const behind = (scope: Scope, position: number, to: number) =>
    model
      .find({ ...within(scope), _id: { $gt: position, $lte: to } })
      .sort({ _id: 1 })
      .limit(PAGES_PER_READ)
      .lean<LogPage[]>();
  return {
    async last() {
      const page = await edge(-1);
      return page === null ? 0 : page._id + page.events.length - 1;
    },
    first: async () => (await model.findOne({}, { _id: 1 }).sort({ _id: 1 }).lean<Pick<LogPage, "_id">>())?._id ?? null,
    async between(scope, after, to, limit) {
      const found: LogEntry[] = [];
      const add = (pages: readonly LogPage[]): void => {
        const entries = pages.flatMap(entriesOf);
        found.push(...entries.filter(({ position }) => position > after && position <= to));
      };
      let pages = await behind(scope, after, to);
      // who stopped in the middle of a page reads it again
      const left = pages[0]?._id === after + 1 ? null : await around(scope, after);
      if (left !== null) add([left]);
      add(pages);
      while (found.length < limit && pages.length === PAGES_PER_READ) {
        pages = await behind(scope, pages.at(-1)?._id ?? to, to);
        add(pages);
      }
      return found.slice(0, limit);
    },
  };
}

/** The log over its model. */
export const eventLog = (model: Model<LogPage>): EventLog => ({
  ...byPosition(model),
  async known(lead_ids) {
    const pages = await model
      .find({ lead_ids: { $in: [...lead_ids] } }, { "events.subject": 1, "events.seq": 1 })
      .lean<{ events: Pick<LogEntry, "subject" | "seq">[] }[]>();
    const asked = new Set(lead_ids);
    const known = new Map<string, number>();
    for (const { subject, seq } of pages.flatMap(({ events }) => events))
      if (asked.has(subject)) known.set(subject, Math.max(seq, known.get(subject) ?? 0));
    return known;
  },
  append: (entries) => appendEach(model, pagesOf(entries)),
  async ofLead(lead_id, after, limit, last) {
    // each page has one of its events at least: those behind `after` are on so many last ones, and on so many first ones
    const [behind, upTo] = [last - after, after + limit];
    if (behind <= 0) return [];
    const direction = behind < upTo ? -1 : 1;
    const pages = await model
      .find({ lead_ids: lead_id })
      .sort({ _id: direction })
      .limit(Math.min(behind, upTo))
      .lean<LogPage[]>();
    const entries = pages.flatMap(entriesOf).filter(({ subject, seq }) => subject === lead_id && seq > after);
    return entries.sort((a, b) => a.seq - b.seq).slice(0, limit);
  },
  async erase(lead_id, e164) {
    let erased = 0;
    for (const page of await model.find({ lead_ids: lead_id }).lean<LogPage[]>()) {
      const { set, n } = withoutPerson(page, lead_id, e164);
      if (n > 0) await model.updateOne({ _id: page._id }, { $set: set });
      erased += n;
    }
    return erased;
  },
});
