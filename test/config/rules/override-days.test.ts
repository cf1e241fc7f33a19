import type { Settings } from "../../../services/config/configurations/configurations.model.ts";
import { overridden } from "../../../services/config/rules/configuration-override.ts";
import { settings } from "../fixtures/config-calls.ts";

/** What a playground run may change of the calling window's days: fewer of them, and more only for a test number. */

const base: Settings = { ...settings, initial_offset: 0 };
const workdays = { weekdays: [1, 2, 3, 4, 5], holidays: ["--12-25", "2026-04-03"] };
const allDay = { call_start_time: "00:00", call_end_time: "00:00" };

test.each<[string, Partial<Settings>, Record<string, unknown>, Record<string, unknown>]>([
  ["fewer weekdays hold", workdays, { weekdays: [2, 3] }, { weekdays: [2, 3] }],
  ["a weekday more is left out, the rest holds", workdays, { weekdays: [5, 6], max_retry: 1 }, { max_retry: 1 }],
  ["every day is more than some", workdays, { weekdays: [1, 2, 3, 4, 5, 6, 7] }, {}],
  ["weekdays where all were open hold", {}, { weekdays: [7] }, { weekdays: [7] }],
  ["for a test number a weekday more holds", workdays, { weekdays: [6], test_number: true }, { weekdays: [6] }],
  ["no holidays in place of some are left out", workdays, { holidays: [] }, {}],
  [
    "a holiday more holds, and one of each year stands for that of this",
    workdays,
    { holidays: ["--12-25", "--04-03", "--05-01"] },
    { holidays: ["--04-03", "--05-01", "--12-25"] },
  ],
  ["that of this year does not stand for each", workdays, { holidays: ["2026-12-25", "2026-04-03"] }, {}],
  [
    "the callee's clock stays where it may count",
    {},
    { respect_callee_timezone: false, max_retry: 1 },
    { max_retry: 1 },
  ],
  ["for a test number it is left aside", {}, { respect_callee_timezone: false, test_number: true }, { respect_callee_timezone: false }], // prettier-ignore
  ["it may be made to count", { respect_callee_timezone: false }, { respect_callee_timezone: true }, { respect_callee_timezone: true }], // prettier-ignore
  ["in another zone the days are others, all day too", { ...allDay, ...workdays }, { timezone: "Asia/Tokyo" }, {}],
  ["all day on every day is the same in each zone", allDay, { timezone: "Asia/Tokyo" }, { timezone: "Asia/Tokyo" }],
])("%s", (_what, stored, override, changed) => {
  expect(overridden({ ...base, ...stored }, override, "UTC")).toEqual({ ...base, ...stored, ...changed });
});
