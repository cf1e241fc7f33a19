import type { Model } from "mongoose";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { appendEach } from "../../../shared/database/write-batches.ts";
import { withoutNumber } from "../../../shared/privacy/erased-text.ts";
import { systemClock, type Clock } from "../../../shared/time/clock.ts";
import { MAX_SHEET_EVENTS, type LogEntry, type LogSheet } from "./event-log.model.ts";
import { logTail, type Recent } from "./log-tail.ts";

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
  /** The same, up to a position that is said, of what this process wrote a moment ago; null: it is to be read. */
  recent(scope: Scope, after: number, limit: number): Recent | null;
  /** Events of a lead behind a number, in order; `last`: the number of its last event, so that no more is read than may be there. */
  ofLead(lead_id: string, after: number, limit: number, last: number): Promise<LogEntry[]>;
  /** Takes a number, which is masked, from the events of a lead; how many had one. */
  erase(lead_id: string, e164: string): Promise<number>;
}

/** Sheets of one read. */
const SHEETS_PER_READ = 20;

/** The events of a sheet with their positions. */
const entriesOf = ({ _id: first, reseller_id, merchant_id, events, expires_at }: LogSheet): LogEntry[] =>
  events.map((event, i) => ({
    _id: `${event.subject}.${event.seq}`,
    position: first + i,
    ...event,
    reseller_id,
    merchant_id,
    expires_at,
  }));

/** Whether an event may stand on the sheet behind those that are there. */
const fits = (sheet: LogSheet, { position, reseller_id, merchant_id }: LogEntry): boolean =>
  sheet.events.length < MAX_SHEET_EVENTS &&
  position === sheet._id + sheet.events.length &&
  reseller_id === sheet.reseller_id &&
  merchant_id === sheet.merchant_id;

/** Entries as sheets, in their order. */
function sheetsOf(entries: readonly LogEntry[]): LogSheet[] {
  const sheets: LogSheet[] = [];
  for (const entry of entries) {
    const { position, subject, seq, type, at, reseller_id, merchant_id, template_id, data, expires_at } = entry;
    let sheet = sheets.at(-1);
    if (sheet === undefined || !fits(sheet, entry)) {
      sheet = { _id: position, reseller_id, merchant_id, lead_ids: [], events: [], expires_at };
      sheets.push(sheet);
    }
    sheet.events.push({ subject, seq, type, at, template_id, data });
    if (!sheet.lead_ids.includes(subject)) sheet.lead_ids.push(subject);
  }
  return sheets;
}

/** The updates by which a number is taken from the events of a lead on a sheet, and how many had it. */
function withoutPerson(
  { events }: LogSheet,
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
function byPosition(model: Model<LogSheet>): Pick<EventLog, "last" | "first" | "between"> {
  const edge = (direction: 1 | -1) => model.findOne().sort({ _id: direction }).lean<LogSheet>();
  /** The sheet of the scope that begins at or before a position, and may reach behind it. */
  const around = (scope: Scope, position: number) =>
    model
      .findOne({ ...within(scope), _id: { $gt: position - MAX_SHEET_EVENTS, $lte: position } })
      .sort({ _id: -1 })
      .lean<LogSheet>();
  const behind = (scope: Scope, position: number, to: number) =>
    model
      .find({ ...within(scope), _id: { $gt: position, $lte: to } })
      .sort({ _id: 1 })
      .limit(SHEETS_PER_READ)
      .lean<LogSheet[]>();
  return {
    async last() {
      const sheet = await edge(-1);
      return sheet === null ? 0 : sheet._id + sheet.events.length - 1;
    },
    first: async () =>
      (await model.findOne({}, { _id: 1 }).sort({ _id: 1 }).lean<Pick<LogSheet, "_id">>())?._id ?? null,
    async between(scope, after, to, limit) {
      const found: LogEntry[] = [];
      const add = (sheets: readonly LogSheet[]): void => {
        const entries = sheets.flatMap(entriesOf);
        found.push(...entries.filter(({ position }) => position > after && position <= to));
      };
      let sheets = await behind(scope, after, to);
      // who stopped in the middle of a sheet reads it again
      const left = sheets[0]?._id === after + 1 ? null : await around(scope, after);
      if (left !== null) add([left]);
      add(sheets);
      while (found.length < limit && sheets.length === SHEETS_PER_READ) {
        sheets = await behind(scope, sheets.at(-1)?._id ?? to, to);
        add(sheets);
      }
      return found.slice(0, limit);
    },
  };
}

/** The log over its model. */
export function eventLog(model: Model<LogSheet>, clock: Pick<Clock, "monotonicMs"> = systemClock): EventLog {
  const tail = logTail(clock);
  return {
    ...byPosition(model),
    ...ofSubjects(model),
    recent: (scope, after, limit) => tail.behind(scope, after, limit),
    async append(entries) {
      const done = await appendEach(model, sheetsOf(entries));
      if (done) tail.add(entries);
      return done;
    },
    async erase(lead_id, e164) {
      tail.forget();
      let erased = 0;
      for (const sheet of await model.find({ lead_ids: lead_id }).lean<LogSheet[]>()) {
        const { set, n } = withoutPerson(sheet, lead_id, e164);
        if (n > 0) await model.updateOne({ _id: sheet._id }, { $set: set });
        erased += n;
      }
      return erased;
    },
  };
}

/** Reads by subject. */
const ofSubjects = (model: Model<LogSheet>): Pick<EventLog, "known" | "ofLead"> => ({
  async known(lead_ids) {
    const sheets = await model
      .find({ lead_ids: { $in: [...lead_ids] } }, { "events.subject": 1, "events.seq": 1 })
      .lean<{ events: Pick<LogEntry, "subject" | "seq">[] }[]>();
    const asked = new Set(lead_ids);
    const known = new Map<string, number>();
    for (const { subject, seq } of sheets.flatMap(({ events }) => events))
      if (asked.has(subject)) known.set(subject, Math.max(seq, known.get(subject) ?? 0));
    return known;
  },
  async ofLead(lead_id, after, limit, last) {
    // each sheet has one of its events at least: those behind `after` are on so many last ones, and on so many first ones
    const [behind, upTo] = [last - after, after + limit];
    if (behind <= 0) return [];
    const direction = behind < upTo ? -1 : 1;
    const sheets = await model
      .find({ lead_ids: lead_id })
      .sort({ _id: direction })
      .limit(Math.min(behind, upTo))
      .lean<LogSheet[]>();
    const entries = sheets.flatMap(entriesOf).filter(({ subject, seq }) => subject === lead_id && seq > after);
    return entries.sort((a, b) => a.seq - b.seq).slice(0, limit);
  },
});
