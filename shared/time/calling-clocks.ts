import type { CallingWindow } from "../calling-window.ts";
import type { ConfigurationRecord } from "../contracts/records/configuration.ts";
import { isAbroad, zoneName } from "../numbering/callee-zones.ts";

/** A clock that must be inside the calling window for a call: the configuration's, or that of a zone where the callee may be. */
export interface CallingClock {
  whose: "configuration" | "callee";
  window: CallingWindow;
}

/** The calling window of a configuration, in its own zone. */
const ownWindow = (c: ConfigurationRecord): CallingWindow => ({
  start: c.call_start_time,
  end: c.call_end_time,
  zone: c.timezone,
  ...(c.weekdays === undefined ? {} : { weekdays: c.weekdays }),
  ...(c.holidays === undefined ? {} : { holidays: c.holidays }),
});

/** Whether the callee's clock counts: as the configuration says, else for numbers abroad. */
const countsCallee = (c: ConfigurationRecord, callee_zones: readonly string[]): boolean =>
  callee_zones.length > 0 && (c.respect_callee_timezone ?? isAbroad(callee_zones, c.timezone));

/** The clocks that count for a call to a number that may be in these zones (none: nobody knows where it is): the configuration's, and each other of the callee's where the callee's count. */
export function callingClocks(c: ConfigurationRecord, callee_zones: readonly string[]): CallingClock[] {
  const window = ownWindow(c);
  const own: CallingClock = { whose: "configuration", window };
  if (!countsCallee(c, callee_zones)) return [own];
  const others = callee_zones.filter((zone) => zone !== zoneName(c.timezone));
  return [own, ...others.map((zone): CallingClock => ({ whose: "callee", window: { ...window, zone } }))];
}
