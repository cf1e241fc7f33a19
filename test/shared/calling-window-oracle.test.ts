import { windowState, type CallingWindow, type WindowState } from "../../shared/calling-window.ts";
import { played } from "../fixtures/long-form.ts";

const MINUTE = 60_000;
const DAY_MINUTES = 1440;
/** Minutes since the epoch: 2026-01-01 to 2028-01-01. */
const FROM = Date.UTC(2026, 0, 1) / MINUTE;
const UNTIL = Date.UTC(2028, 0, 1) / MINUTE;
const SAMPLE = 12 * 60;
/** How far around a change of offset is judged: all minutes next to an opening or closing, and of the others one in so many. */
const AROUND = 26 * 60;
const ONE_IN = played(47, 11);
/** Every minute this close to a change is judged. */
const CLOSE = played(60, 180);
/** Zones of one rule (all of the European Union) have one table: after the first of them one minute in so many is enough. */
const ONE_IN_MORE = played(397, 97);
/** How far the next opening or closing may lie: a window may miss its day around a change. */
const AHEAD = 74 * 60;
/** Instants judged anywhere in the two years, for each zone and window. */
const RANDOM = played(2, 8);

/** Deterministic, so that a failure comes back. */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The time of day in a zone, minutes, by the runtime's formatter: nothing here comes from luxon or the code under test. */
function clockOf(zone: string): (minute: number) => number {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  return (minute) => {
    const text = format.format(minute * MINUTE);
    return Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5));
  };
}

/** From `from` on (minutes since the epoch) the zone's clock is `shift` minutes ahead of UTC, modulo a day. */
interface Segment {
  from: number;
  shift: number;
}

/** The zone's whole offset table, to the minute. */
function segmentsOf(zone: string): Segment[] {
  const clock = clockOf(zone);
  const shift = (minute: number): number => (clock(minute) - (minute % DAY_MINUTES) + DAY_MINUTES) % DAY_MINUTES;
  const out: Segment[] = [{ from: FROM - 3 * DAY_MINUTES, shift: shift(FROM - 3 * DAY_MINUTES) }];
  for (let at = FROM - 3 * DAY_MINUTES; at < UNTIL + 7 * DAY_MINUTES; at += SAMPLE) {
    const before = out.at(-1)?.shift;
    if (shift(at + SAMPLE) === before) continue;
    let [low, high] = [at, at + SAMPLE];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (shift(middle) === before) low = middle;
      else high = middle;
    }
    out.push({ from: high, shift: shift(high) });
  }
  return out;
}

const minutesOf = (hhmm: string): number => Number(hhmm.slice(0, 2)) * 60 + Number(hhmm.slice(3));
const hhmm = (minute: number): string => {
  const m = ((minute % DAY_MINUTES) + DAY_MINUTES) % DAY_MINUTES;
  return `${String(Math.floor(m / 60)).padStart(2, "0")}:${String(m % 60).padStart(2, "0")}`;
};

/** Open or shut at every minute of a stretch, and where it changes next. */
interface Judged {
  from: number;
  open: Uint8Array;
  next: Int32Array;
}

function judge(segments: Segment[], window: CallingWindow, from: number, length: number): Judged {
  const [start, end] = [minutesOf(window.start), minutesOf(window.end)];
  const open = new Uint8Array(length);
  let segment = segments.findLastIndex((s) => s.from <= from);
  let [shift, until] = [0, from];
  for (let i = 0; i < length; i++) {
    if (from + i >= until) {
      while ((segments[segment + 1]?.from ?? UNTIL * 2) <= from + i) segment++;
      shift = segments[segment]?.shift ?? 0;
      until = segments[segment + 1]?.from ?? UNTIL * 2;
    }
    const tod = (from + i + shift) % DAY_MINUTES;
    open[i] = start === end || (start < end ? tod >= start && tod < end : tod >= start || tod < end) ? 1 : 0;
  }
  const next = new Int32Array(length);
  let edge = -1;
  for (let i = length - 1; i >= 0; i--) {
    if (i + 1 < length && open[i + 1] !== open[i]) edge = i + 1;
    next[i] = edge;
  }
  return { from, open, next };
}

const told = (state: WindowState): string =>
  state.open
    ? `open until ${state.closes_at?.toISOString() ?? "ever"}`
    : `shut until ${state.opens_at?.toISOString() ?? "ever"}`;

let judged = 0;

/** The minutes around a change that are worth asking for. */
function* minutesAround(table: Judged, first: boolean, phase: number): Generator<number> {
  const step = first ? ONE_IN : ONE_IN_MORE;
  for (let i = 1; i < 2 * AROUND; i++) {
    const edge = table.open[i] !== table.open[i - 1] || table.open[i] !== table.open[i + 1];
    if (edge || i % step === phase % step || (first && Math.abs(i - AROUND) <= CLOSE)) yield i;
  }
}

/** Compares one minute: its first instant or, seconds and milliseconds later, the same state until the same instant. */
function compare(window: CallingWindow, table: Judged, i: number, ms: number): void {
  const at = (table.from + i) * MINUTE + ms;
  const state = windowState(window, new Date(at));
  judged++;
  const next = table.next[i] ?? -1;
  const edge = next < 0 ? null : (table.from + next) * MINUTE;
  const found = state.open ? (state.closes_at?.getTime() ?? null) : (state.opens_at?.getTime() ?? null);
  if (state.open === (table.open[i] === 1) && found === edge) return;
  throw new Error(
    `${window.zone} ${window.start}-${window.end} at ${new Date(at).toISOString()}: ${told(state)}, but minute by minute it is ${table.open[i] === 1 ? "open" : "shut"} until ${edge === null ? "ever" : new Date(edge).toISOString()}`,
  );
}

const FIXED: [string, string][] = [
  ["09:00", "18:00"],
  ["22:00", "02:30"],
  ["23:59", "00:00"],
  ["00:00", "23:59"],
  ["12:00", "12:00"],
  ["00:00", "00:01"],
];

/** Windows that lie around the local time of a change: beginning and ending inside the hour it skips or repeats, one minute long, all but that hour. */
function windowsAround(segments: Segment[], change: number): [string, string][] {
  const before = segments[change - 1]?.shift ?? 0;
  const { from = 0, shift = 0 } = segments[change] ?? {};
  const jump = ((shift - before + DAY_MINUTES + 720) % DAY_MINUTES) - 720;
  // In a gap the clock goes from `local` to `local + jump`; in a fold from `local` back to `local + jump`.
  const local = (from + before) % DAY_MINUTES;
  const [low, high] = jump > 0 ? [local, local + jump] : [local + jump, local];
  const middle = (low + high) >> 1;
  return (
    [
      [middle, high + 120],
      [low - 120, middle],
      [middle, middle + 1],
      [low, high],
      [high, low],
      [middle, middle - 1],
    ] as const
  ).map(([a, b]) => [hhmm(a), hhmm(b)]);
}

const ALIASES = [
  "UTC",
  "Etc/UTC",
  "GMT",
  "Etc/GMT+12",
  "Etc/GMT-14",
  "Asia/Calcutta",
  "US/Eastern",
  "America/Buenos_Aires",
];
const ZONES = [...new Set([...Intl.supportedValuesOf("timeZone"), ...ALIASES])];

let made: Map<string, Segment[]> | undefined;
const tables = (): Map<string, Segment[]> => (made ??= new Map(ZONES.map((zone) => [zone, segmentsOf(zone)])));

test("membership and the next edge agree with a minute-by-minute oracle: every zone, every change of offset of two years", () => {
  const random = randoms(20_261_121);
  const seen = new Set<string>();
  let changes = 0;
  for (const [zone, segments] of tables()) {
    for (let change = 1; change < segments.length; change++) {
      const at = segments[change]?.from ?? 0;
      if (at >= UNTIL) break;
      changes++;
      const signature = JSON.stringify(segments.slice(change - 1, change + 1).map((s, i) => (i === 0 ? s.shift : s)));
      for (const [start, end] of [...FIXED, ...windowsAround(segments, change)]) {
        const window = { zone, start, end };
        const table = judge(segments, window, at - AROUND, 2 * AROUND + AHEAD);
        for (const i of minutesAround(table, !seen.has(signature), changes))
          compare(window, table, i, i % 5 === 0 ? Math.floor(random() * MINUTE) : 0);
      }
      seen.add(signature);
    }
  }
  expect(changes).toBeGreaterThan(400);
  expect(judged).toBeGreaterThan(played(200_000, 1_000_000));
  console.log(
    `${judged} instants judged around ${changes} changes of offset (${seen.size} different ones) in ${ZONES.length} zones`,
  );
}, 120_000);

test("and anywhere else in two years, in every zone", () => {
  const random = randoms(7);
  const before = judged;
  for (const [zone, segments] of tables()) {
    for (let n = 0; n < RANDOM; n++) {
      const [start = "", end = ""] =
        n < FIXED.length
          ? (FIXED[n] ?? [])
          : [hhmm(Math.floor(random() * DAY_MINUTES)), hhmm(Math.floor(random() * DAY_MINUTES))];
      const from = FROM + Math.floor(random() * (UNTIL - FROM));
      const table = judge(segments, { zone, start, end }, from, 1 + AHEAD);
      compare({ zone, start, end }, table, 0, Math.floor(random() * MINUTE));
    }
  }
  expect(judged - before).toBe(ZONES.length * RANDOM);
}, 60_000);
