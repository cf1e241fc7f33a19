import { IANAZone } from "luxon";

/** A zone's offset through one span: at its beginning, and each change after that; the last instant of a span is the first of the next. */
interface ZoneSpan {
  offset_ms: number;
  changes: { at: number; offset_ms: number }[];
}

/** The clock on the wall in a zone. Instants are ms since 1970; the wall's time is written as the ms of the same time in UTC. */
export interface WallClock {
  /** What the wall shows at an instant. */
  shown(at: number): number;
  /** First instant in (from, to] at which the zone's offset changes; null when there is none. */
  changeIn(from: number, to: number): number | null;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const SPAN_MS = 364 * DAY_MS;
/** The search for changes steps by so much: no zone has changed its offset and gone back to it within a week. */
const STEP_MS = 7 * DAY_MS;
/** Spans kept of one zone, and zones kept. */
const MAX_SPANS = 20;
const MAX_ZONES = 1000;

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

function lookUp(zone: IANAZone, from: number): ZoneSpan {
  let offset = zone.offset(from);
  const span: ZoneSpan = { offset_ms: offset * MINUTE_MS, changes: [] };
  for (let step = from; step < from + SPAN_MS; step += STEP_MS) {
    const end = step + STEP_MS;
    for (let at = step; zone.offset(end) !== offset;) {
      at = firstChange(zone, at, end);
      offset = zone.offset(at);
      span.changes.push({ at, offset_ms: offset * MINUTE_MS });
    }
  }
  return span;
}

function clockOf(zone: IANAZone): WallClock {
  const spans = new Map<number, ZoneSpan>();
  const spanOf = (number: number): ZoneSpan => {
    const there = spans.get(number);
    if (there) return there;
    if (spans.size >= MAX_SPANS) spans.clear();
    const made = lookUp(zone, number * SPAN_MS);
    spans.set(number, made);
    return made;
  };
  return {
    shown(at) {
      const span = spanOf(Math.floor(at / SPAN_MS));
      let offset = span.offset_ms;
      for (const change of span.changes) if (change.at <= at) offset = change.offset_ms;
      return at + offset;
    },
    changeIn(from, to) {
      for (let number = Math.floor(from / SPAN_MS); number * SPAN_MS <= to; number++)
        for (const { at } of spanOf(number).changes) if (at > from) return at <= to ? at : null;
      return null;
    },
  };
}

const clocks = new Map<string, WallClock>();

/** The wall clock of an IANA zone that the runtime knows. Its offsets are kept: the runtime takes microseconds for one, and a pass over many queues needs many. */
export function wallClock(zone: string): WallClock {
  const known = clocks.get(zone);
  if (known) return known;
  if (clocks.size >= MAX_ZONES) clocks.clear();
  const made = clockOf(IANAZone.create(zone));
  clocks.set(zone, made);
  return made;
}
