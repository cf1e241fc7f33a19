import {
  callingWindowOf,
  LOOK_AHEAD_DAYS,
  shutBy,
  wallDay,
  windowState,
  type CallingWindow,
  type WindowState,
} from "../../../shared/calling-window.ts";
import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import { SHORTEST_RING_SECONDS } from "../../../shared/contracts/scheduler.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import { hold, pass, type Ruling } from "./gate-verdict.ts";

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/** The window's state for a new call: a window that closes before a phone can ring counts as closed. */
export function ringableState(window: CallingWindow, at: Date): WindowState {
  const state = windowState(window, at);
  if (!state.open || state.closes_at === null) return state;
  if (state.closes_at.getTime() - at.getTime() >= SHORTEST_RING_SECONDS * MS_PER_SECOND) return state;
  const after = windowState(window, state.closes_at);
  return after.open ? state : after;
}

/** Why the window is shut, to follow "is closed"; nothing where its hours say so. */
function because(window: CallingWindow, at: Date): string {
  const by = shutBy(window, at);
  const { date, weekday } = wallDay(window.zone, at);
  if (by === "holiday") return `: ${date} is one of its holidays`;
  return by === "weekday" ? `: ${WEEKDAYS[weekday - 1]} is none of its weekdays` : "";
}

const valuesOf = (c: ConfigurationRecord): Record<string, unknown> => ({
  call_start_time: c.call_start_time,
  call_end_time: c.call_end_time,
  timezone: c.timezone,
  ...(c.weekdays === undefined || c.weekdays.length === WEEKDAYS.length ? {} : { weekdays: c.weekdays }),
});

/** Gate `window`: whether the calling window of the configuration is open, what shuts it, and until when. */
export function windowRuling(c: ConfigurationRecord, at: Date): Ruling {
  const window = callingWindowOf(c);
  const state = ringableState(window, at);
  const said = `${window.start}-${window.end} ${window.zone}`;
  const values = valuesOf(c);
  if (!state.open) {
    const shut = `The calling window ${said} is closed${because(window, at)}`;
    const by = { closed_by: shutBy(window, at) ?? "hours" };
    return state.opens_at === null
      ? hold(`${shut}; it does not open within ${LOOK_AHEAD_DAYS} days.`, null, { ...values, ...by })
      : hold(`${shut}; it opens at ${state.opens_at.toISOString()}.`, state.opens_at, { ...values, ...by });
  }
  if (state.closes_at === null) return pass("The calling window is open all day.", values);
  return pass(`The calling window ${said} is open until ${state.closes_at.toISOString()}.`, {
    ...values,
    closes_at: state.closes_at.toISOString(),
  });
}
