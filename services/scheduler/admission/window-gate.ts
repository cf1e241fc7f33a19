import { callingClocks, type CallingClock } from "../../../shared/time/calling-clocks.ts";
import { LOOK_AHEAD_DAYS, openInAll, shutBy, wallDay, type WindowState } from "../../../shared/calling-window.ts";
import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import { SHORTEST_RING_SECONDS } from "../../../shared/contracts/scheduler.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import { hold, pass, type Ruling } from "./gate-verdict.ts";

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
/** Zones that a sentence names; values name them all. */
const NAMED_ZONES = 3;

/** A state and the span of instants (ms) for which it was found; `until` left out. */
interface Known {
  from: number;
  until: number;
  state: WindowState;
}
/** States found, by configuration and zones: a pass judges many leads by one configuration, and a search for an opening may go far. */
const found = new WeakMap<ConfigurationRecord, Map<string, Known>>();
const MAX_FOUND = 500;
/** A window without an opening is searched anew after this long. */
const SEARCH_AGAIN_MS = 3_600_000;

/** The state of all clocks at an instant; as found before while it lasts. */
function stateAt(c: ConfigurationRecord, callee_zones: readonly string[], at: Date): WindowState {
  const known = found.get(c) ?? new Map<string, Known>();
  found.set(c, known);
  const key = callee_zones.join(" ");
  const now = at.getTime();
  const last = known.get(key);
  if (last && now >= last.from && now < last.until) return last.state;
  const state = openInAll(
    callingClocks(c, callee_zones).map(({ window }) => window),
    at,
  );
  const edge = state.open ? state.closes_at : state.opens_at;
  if (known.size >= MAX_FOUND) known.clear();
  known.set(key, { from: now, until: edge?.getTime() ?? now + SEARCH_AGAIN_MS, state });
  return state;
}

/**
 * The window's state for a new call to a number that may be in these zones: open while every clock that counts is inside it. A window that closes before a
 * phone can ring counts as closed.
 */
export function ringableState(c: ConfigurationRecord, callee_zones: readonly string[], at: Date): WindowState {
  const state = stateAt(c, callee_zones, at);
  if (!state.open || state.closes_at === null) return state;
  if (state.closes_at.getTime() - at.getTime() >= SHORTEST_RING_SECONDS * MS_PER_SECOND) return state;
  const after = stateAt(c, callee_zones, state.closes_at);
  return after.open ? state : after;
}

/** Why a clock is outside the window, to follow "is closed"; nothing where the hours say so. */
function because({ window }: CallingClock, at: Date): string {
  const by = shutBy(window, at);
  const { date, weekday } = wallDay(window.zone, at);
  if (by === "holiday") return `: ${date} is one of its holidays`;
  return by === "weekday" ? `: ${WEEKDAYS[weekday - 1]} is none of its weekdays` : "";
}

function named(zones: readonly string[]): string {
  const more = zones.length - NAMED_ZONES;
  return `${zones.slice(0, NAMED_ZONES).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

const valuesOf = (c: ConfigurationRecord, callees: readonly string[]): Record<string, unknown> => ({
  call_start_time: c.call_start_time,
  call_end_time: c.call_end_time,
  timezone: c.timezone,
  ...(c.weekdays === undefined || c.weekdays.length === WEEKDAYS.length ? {} : { weekdays: c.weekdays }),
  ...(callees.length === 0 ? {} : { callee_zones: callees }),
});

/** Which clock is outside the window: the configuration's before the callee's; where all are inside it closes before a phone can ring. */
function outside(clocks: readonly CallingClock[], at: Date): CallingClock | undefined {
  return clocks.find(({ window }) => shutBy(window, at) !== null) ?? clocks[0];
}

/** The sentence and values of a window that is closed; `callees`: the zones that count besides the configuration's. */
function closedRuling(
  c: ConfigurationRecord,
  clocks: readonly CallingClock[],
  callees: readonly string[],
  at: Date,
  opens_at: Date | null,
): Ruling {
  const hours = `${c.call_start_time}-${c.call_end_time}`;
  const by = outside(clocks, at);
  const where = by?.whose === "callee" ? `${by.window.zone}, where the callee may be,` : c.timezone;
  const shut = `The calling window ${hours} ${where} is closed${by ? because(by, at) : ""}`;
  const values = {
    ...valuesOf(c, callees),
    closed_by: (by && shutBy(by.window, at)) ?? "hours",
    ...(callees.length === 0 ? {} : { clock: by?.whose, clock_zone: by?.window.zone }),
  };
  const all = callees.length === 0 ? "" : ` in ${c.timezone} and where the callee may be (${named(callees)})`;
  if (opens_at !== null) return hold(`${shut}; it opens${all} at ${opens_at.toISOString()}.`, opens_at, values);
  const never =
    callees.length === 0
      ? `it does not open within ${LOOK_AHEAD_DAYS} days`
      : `there is no time within ${LOOK_AHEAD_DAYS} days at which it is open${all} at once`;
  return hold(`${shut}; ${never}.`, null, values);
}

/**
 * Gate `window`: whether the calling window is open on the configuration's clock and on those of the callee that count, which of them is outside it and
 * why, and until when.
 */
export function windowRuling(c: ConfigurationRecord, callee_zones: readonly string[], at: Date): Ruling {
  const clocks = callingClocks(c, callee_zones);
  const callees = clocks.flatMap(({ whose, window }) => (whose === "callee" ? [window.zone] : []));
  const state = ringableState(c, callee_zones, at);
  if (!state.open) return closedRuling(c, clocks, callees, at, state.opens_at);
  const values = valuesOf(c, callees);
  if (state.closes_at === null) return pass("The calling window is open all day.", values);
  const also = callees.length === 0 ? "" : `, also where the callee may be (${named(callees)})`;
  return pass(
    `The calling window ${c.call_start_time}-${c.call_end_time} ${c.timezone} is open until ${state.closes_at.toISOString()}${also}.`,
    { ...values, closes_at: state.closes_at.toISOString() },
  );
}
