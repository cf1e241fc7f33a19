import { wallClock, type WallClock } from "./time/zone-offsets.ts";

/**
 * A calling window on the wall clock of a zone: hours as HH:MM, start inclusive, end exclusive (start after end crosses midnight, equal means all
 * day), on some days. The date and the weekday are those that the wall shows at the instant itself: hours that cross midnight are shut from midnight on where the new
 * day is shut, so that no phone rings on a holiday.
 */
export interface CallingWindow {
  start: string;
  end: string;
  zone: string;
  /** ISO weekdays, 1 (Monday) to 7; absent: all. */
  weekdays?: readonly number[];
  /** Dates that are shut all day: `2026-12-25`, or each year `--12-25`; absent: none. */
  holidays?: readonly string[];
}

/** What shuts a window at an instant. */
export type ShutBy = "hours" | "weekday" | "holiday";

/**
 * A window at an instant: open until `closes_at`, or closed until `opens_at`. null: nothing changes within LOOK_AHEAD_DAYS, which for hours alone
 * means never.
 */
export type WindowState = { open: true; closes_at: Date | null } | { open: false; opens_at: Date | null };

/** How far ahead the next opening and closing are looked for. */
export const LOOK_AHEAD_DAYS = 400;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const LOOK_AHEAD_MS = LOOK_AHEAD_DAYS * DAY_MS;
const DATE_CHARS = "2026-12-25".length;
/** 1970-01-01 was a Thursday, ISO weekday 4: so many days after a Monday. */
const EPOCH_DAYS_AFTER_MONDAY = 3;
const WEEK = 7;

const minutes = (hhmm: string): number => Number(hhmm.slice(0, 2)) * 60 + Number(hhmm.slice(3, 5));
const modulo = (a: number, b: number): number => ((a % b) + b) % b;

/** Lists of holidays as sets; a configuration's list is the same object from judgement to judgement. */
const sets = new WeakMap<readonly string[], ReadonlySet<string>>();
function setOf(holidays: readonly string[]): ReadonlySet<string> {
  const known = sets.get(holidays);
  if (known) return known;
  const made = new Set(holidays);
  sets.set(holidays, made);
  return made;
}

/** The date that the wall shows, such as 2026-12-25. */
const dateOf = (shown: number): string => new Date(shown).toISOString().slice(0, DATE_CHARS);

/** The ISO weekday that the wall shows. */
const weekdayOf = (shown: number): number => modulo(Math.floor(shown / DAY_MS) + EPOCH_DAYS_AFTER_MONDAY, WEEK) + 1;

/** A window in the form it is judged by; times of day in ms. */
interface Rules {
  clock: WallClock;
  start: number;
  end: number;
  weekdays: readonly number[] | null;
  holidays: ReadonlySet<string> | null;
}

const rulesOf = ({ start, end, zone, weekdays, holidays }: CallingWindow): Rules => ({
  clock: wallClock(zone),
  start: minutes(start) * MINUTE_MS,
  end: minutes(end) * MINUTE_MS,
  weekdays: weekdays === undefined || weekdays.length === WEEK ? null : weekdays,
  holidays: holidays === undefined || holidays.length === 0 ? null : setOf(holidays),
});

function dayShutBy({ weekdays, holidays }: Rules, shown: number): "weekday" | "holiday" | null {
  if (holidays) {
    const date = dateOf(shown);
    if (holidays.has(date) || holidays.has(`-${date.slice(4)}`)) return "holiday";
  }
  return weekdays && !weekdays.includes(weekdayOf(shown)) ? "weekday" : null;
}

function hoursHold({ start, end }: Rules, shown: number): boolean {
  const tod = modulo(shown, DAY_MS);
  if (start === end) return true;
  return start < end ? tod >= start && tod < end : tod >= start || tod < end;
}

const isAlwaysOpen = ({ start, end, weekdays, holidays }: Rules): boolean => start === end && !weekdays && !holidays;

const shutAt = (rules: Rules, shown: number): ShutBy | null =>
  dayShutBy(rules, shown) ?? (hoursHold(rules, shown) ? null : "hours");

/** Milliseconds until the wall shows the next time at which the window may begin or end, were its offset to stay: an edge of its hours, or midnight. */
function untilEdge(rules: Rules, shown: number, shut: ShutBy | null): number {
  const to = (edge: number): number => modulo(edge - shown, DAY_MS) || DAY_MS;
  if (shut === "weekday" || shut === "holiday") return to(0);
  const hours = rules.start === rules.end ? DAY_MS : Math.min(to(rules.start), to(rules.end));
  return rules.weekdays || rules.holidays ? Math.min(hours, to(0)) : hours;
}

/** First instant after `from` at which the window is open, or shut, as wanted; by walking from edge to edge through stretches of constant offset. null: none within LOOK_AHEAD_DAYS. */
function firstAfter(rules: Rules, from: number, open: boolean): number | null {
  const last = from + LOOK_AHEAD_MS;
  for (let at = from; at <= last;) {
    const shown = rules.clock.shown(at);
    const shut = shutAt(rules, shown);
    if ((shut === null) === open) return at;
    const edge = at + untilEdge(rules, shown, shut);
    at = rules.clock.changeIn(at, edge) ?? edge;
  }
  return null;
}

const dated = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));

/** What shuts the window at an instant; null: it is open. */
export function shutBy(window: CallingWindow, at: Date): ShutBy | null {
  const rules = rulesOf(window);
  return shutAt(rules, rules.clock.shown(at.getTime()));
}

/** The date on the wall of a zone, such as 2026-12-25, and its ISO weekday. */
export function wallDay(zone: string, at: Date): { date: string; weekday: number } {
  const shown = wallClock(zone).shown(at.getTime());
  return { date: dateOf(shown), weekday: weekdayOf(shown) };
}

/** The windows of which no two have the same wall as far as is looked ahead: what one shows the others need not be asked for. */
function differing(all: readonly Rules[], from: number): readonly Rules[] {
  if (all.length === 1) return all;
  const walls = new Map<string, Rules>();
  for (const rules of all) {
    const { clock } = rules;
    const walk: number[] = [clock.shown(from) - from];
    for (let at: number | null = from; at !== null;) {
      at = clock.changeIn(at, from + LOOK_AHEAD_MS);
      if (at !== null) walk.push(at, clock.shown(at) - at);
    }
    const wall = walk.join(" ");
    if (!walls.has(wall)) walls.set(wall, rules);
  }
  return [...walls.values()];
}

/** First instant from `from` on at which all are open; null: none within LOOK_AHEAD_DAYS. Each in turn moves the instant on to where it is open, until none has to. */
function firstOpenInAll(all: readonly Rules[], from: number): number | null {
  for (let at = from; at <= from + LOOK_AHEAD_MS;) {
    let next = at;
    for (const rules of all) {
      const opens = firstAfter(rules, next, true);
      if (opens === null) return null;
      next = opens;
    }
    if (next === at) return at;
    at = next;
  }
  return null;
}

/**
 * The state at an instant of windows of the same hours and days on the walls of several zones: open while all of them are. Whether one is open is a
 * function of the instant alone, so gaps and folds of daylight saving need no special case.
 */
export function openInAll(windows: readonly CallingWindow[], at: Date): WindowState {
  const now = at.getTime();
  const all = differing(windows.map(rulesOf), now);
  if (all.some((rules) => shutAt(rules, rules.clock.shown(now)) !== null))
    return { open: false, opens_at: dated(firstOpenInAll(all, now)) };
  const closings = all.flatMap((rules) => (isAlwaysOpen(rules) ? [] : (firstAfter(rules, now, false) ?? [])));
  return { open: true, closes_at: closings.length === 0 ? null : new Date(Math.min(...closings)) };
}

/** The state of one window at an instant. */
export const windowState = (window: CallingWindow, at: Date): WindowState => openInAll([window], at);
