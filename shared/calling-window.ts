import { IANAZone } from "luxon";

/** A daily calling window in a zone: HH:MM, start inclusive, end exclusive; start after end crosses midnight, equal means all day. */
export interface CallingWindow {
  start: string;
  end: string;
  zone: string;
}

/** The window at an instant: open until `closes_at` (null: it never closes), or closed until `opens_at`. */
export type WindowState = { open: true; closes_at: Date | null } | { open: false; opens_at: Date };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Offset changes crossed in one search: no zone has had more within the days that one search spans. */
const MAX_SEGMENTS = 16;

/** A zone's offset through one UTC day: at its beginning, and each change after that, the last instant of the day being the first of the next. */
interface ZoneDay {
  offset_ms: number;
  changes: { at: number; offset_ms: number }[];
}

/** Cached offsets by zone: the runtime takes microseconds for one, and a pass over many queues needs many. */
interface KnownZone {
  zone: IANAZone;
  days: Map<number, ZoneDay>;
}

const zones = new Map<string, KnownZone>();
const MAX_ZONES = 1000;
const MAX_DAYS = 100;

function zoneOf(name: string): KnownZone {
  const known = zones.get(name);
  if (known) return known;
  if (zones.size >= MAX_ZONES) zones.clear();
  const made = { zone: IANAZone.create(name), days: new Map<number, ZoneDay>() };
  zones.set(name, made);
  return made;
}

const minutes = (hhmm: string): number => Number(hhmm.slice(0, 2)) * 60 + Number(hhmm.slice(3, 5));
const modulo = (a: number, b: number): number => ((a % b) + b) % b;

/** First instant in (from, to] at which the zone's offset is another than that at `from`. */
function firstChange(zone: IANAZone, from: number, to: number): number {
  const before = zone.offset(from);
  let low = from;
  let high = to;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (zone.offset(middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** The search steps by the hour: no zone has changed its offset twice within one. */
function lookUp(zone: IANAZone, from: number): ZoneDay {
  let offset = zone.offset(from);
  const day: ZoneDay = { offset_ms: offset * MINUTE_MS, changes: [] };
  for (let at = from; at < from + DAY_MS; at += HOUR_MS) {
    if (zone.offset(at + HOUR_MS) === offset) continue;
    const change = firstChange(zone, at, at + HOUR_MS);
    offset = zone.offset(change);
    day.changes.push({ at: change, offset_ms: offset * MINUTE_MS });
  }
  return day;
}

function dayOf(known: KnownZone, number: number): ZoneDay {
  const there = known.days.get(number);
  if (there) return there;
  if (known.days.size >= MAX_DAYS) known.days.clear();
  const made = lookUp(known.zone, number * DAY_MS);
  known.days.set(number, made);
  return made;
}

function timeOfDay(zone: KnownZone, at: number): number {
  const day = dayOf(zone, Math.floor(at / DAY_MS));
  let offset = day.offset_ms;
  for (const change of day.changes) if (change.at <= at) offset = change.offset_ms;
  return modulo(at + offset, DAY_MS);
}

/** First instant in (from, to] at which the zone's offset changes; null when there is none. */
function nextChange(zone: KnownZone, from: number, to: number): number | null {
  for (let number = Math.floor(from / DAY_MS); number * DAY_MS <= to; number++) {
    for (const { at } of dayOf(zone, number).changes) if (at > from) return at <= to ? at : null;
  }
  return null;
}

const inside = (tod: number, start: number, end: number): boolean =>
  start < end ? tod >= start && tod < end : tod >= start || tod < end;

/** First instant at or after `from` at which membership becomes `wanted`, by walking segments of constant offset. */
function walk(zone: KnownZone, from: number, start: number, end: number, wanted: boolean): number | null {
  const edge = wanted ? start : end;
  let cur = from;
  for (let i = 0; i < MAX_SEGMENTS; i++) {
    const tod = timeOfDay(zone, cur);
    if (inside(tod, start, end) === wanted) return cur;
    const candidate = cur + modulo(edge - tod, DAY_MS);
    const change = nextChange(zone, cur, candidate);
    if (change === null || change > candidate) return candidate;
    cur = change;
  }
  return null;
}

/** The window's state at an instant. Membership is a function of the instant alone, so gaps and folds of daylight saving need no special case. */
export function windowState(window: CallingWindow, at: Date): WindowState {
  const start = minutes(window.start) * MINUTE_MS;
  const end = minutes(window.end) * MINUTE_MS;
  if (start === end) return { open: true, closes_at: null };
  const zone = zoneOf(window.zone);
  const now = at.getTime();
  if (inside(timeOfDay(zone, now), start, end)) {
    const closes = walk(zone, now, start, end, false);
    return { open: true, closes_at: closes === null ? null : new Date(closes) };
  }
  return { open: false, opens_at: new Date(walk(zone, now, start, end, true) ?? now + DAY_MS) };
}
