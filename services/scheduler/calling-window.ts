import { IANAZone } from "luxon";

/** A daily calling window in a zone: HH:MM, start inclusive, end exclusive; start after end crosses midnight, equal means all day. */
export interface CallingWindow { start: string; end: string; zone: string }

/** What the window says at an instant: open until `closes_at` (null: it never closes), or shut until `opens_at`. */
export type WindowState = { open: true; closes_at: Date | null } | { open: false; opens_at: Date };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Offset changes crossed in one look-ahead: no zone has had more within the days one look-ahead spans. */
const MAX_SEGMENTS = 16;

const zones = new Map<string, IANAZone>();
const MAX_ZONES = 1000;

function zoneOf(name: string): IANAZone {
  const known = zones.get(name);
  if (known) return known;
  if (zones.size >= MAX_ZONES) zones.clear();
  const made = IANAZone.create(name);
  zones.set(name, made);
  return made;
}

const minutes = (hhmm: string): number => Number(hhmm.slice(0, 2)) * 60 + Number(hhmm.slice(3, 5));
const modulo = (a: number, b: number): number => ((a % b) + b) % b;
const offsetMs = (zone: IANAZone, at: number): number => zone.offset(at) * MINUTE_MS;
const timeOfDay = (zone: IANAZone, at: number): number => modulo(at + offsetMs(zone, at), DAY_MS);

/** First instant in (from, to] at which the zone's offset differs from that at `from`; null when there is none. */
function nextChange(zone: IANAZone, from: number, to: number): number | null {
  const before = zone.offset(from);
  for (let at = from; at < to;) {
    const step = Math.min(to, at + HOUR_MS);
    if (zone.offset(step) !== before) {
      let low = at;
      let high = step;
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2);
        if (zone.offset(middle) === before) low = middle; else high = middle;
      }
      return high;
    }
    at = step;
  }
  return null;
}

const inside = (tod: number, start: number, end: number): boolean => (start < end ? tod >= start && tod < end : tod >= start || tod < end);

/** First instant at or after `from` at which membership becomes `wanted`, by walking segments of constant offset (reliability.md 3.5). */
function walk(zone: IANAZone, from: number, start: number, end: number, wanted: boolean): number | null {
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
