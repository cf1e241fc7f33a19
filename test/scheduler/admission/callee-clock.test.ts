import * as fc from "fast-check";
import { explain } from "../../../services/scheduler/admission/explanation.ts";
import { ringableState } from "../../../services/scheduler/admission/window-gate.ts";
import { windowState } from "../../../shared/calling-window.ts";
import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import { zonesOf } from "../../../shared/numbering/callee-zones.ts";
import { configuration, gateInputs, plan, waiting } from "../fixtures/gate-inputs.ts";

/** The calling window on the callee's clock: in every zone where its number may be. */

const NEW_YORK = "+12125551234";
const TOKYO = "+819012345678";
const TOLL_FREE = "+18005551234";
const berlin = { timezone: "Europe/Berlin" };

const windowOf = (over: Partial<ConfigurationRecord>, phone_number: string, at: string) => {
  const lasting = plan({
    max_age_seconds: 7_776_000,
    configuration: configuration({ respect_callee_timezone: null, ...over }),
  });
  const inputs = gateInputs({ plan: lasting, at: new Date(at) }, { due_at: at, created_at: at, phone_number });
  const explained = explain(waiting({ created_at: at, phone_number }), inputs);
  return { ...explained.gates.find((g) => g.gate === "window"), next: explained.next_eligible_at };
};

test.each<[string, Partial<ConfigurationRecord>, string, string, string, object]>([
  [
    "abroad: it is night where the callee is",
    berlin,
    NEW_YORK,
    "2026-11-23T10:00:00.000Z",
    "The calling window 09:00-18:00 America/New_York, where the callee may be, is closed; it opens in Europe/Berlin and where the callee may be (America/New_York) at 2026-11-23T14:00:00.000Z.",
    {
      until: "2026-11-23T14:00:00.000Z",
      values: { clock: "callee", clock_zone: "America/New_York", callee_zones: ["America/New_York"] },
    },
  ],
  [
    "abroad: it is evening here, which is said first, and the next time is one for both",
    berlin,
    NEW_YORK,
    "2026-11-23T17:30:00.000Z",
    "The calling window 09:00-18:00 Europe/Berlin is closed; it opens in Europe/Berlin and where the callee may be (America/New_York) at 2026-11-24T14:00:00.000Z.",
    { values: { clock: "configuration", clock_zone: "Europe/Berlin" }, next: "2026-11-24T14:00:00.000Z" },
  ],
  [
    "it is a holiday there already",
    { timezone: "Pacific/Honolulu", respect_callee_timezone: true, holidays: ["--01-01"], call_start_time: "00:00", call_end_time: "00:00" }, // prettier-ignore
    TOKYO,
    "2026-12-31T20:00:00.000Z",
    "The calling window 00:00-00:00 Asia/Tokyo, where the callee may be, is closed: 2027-01-01 is one of its holidays; it opens in Pacific/Honolulu and where the callee may be (Asia/Tokyo) at 2027-01-02T10:00:00.000Z.",
    { values: { closed_by: "holiday", clock: "callee" } },
  ],
  [
    "a number that may be anywhere from Guam to Puerto Rico: never",
    { timezone: "America/New_York", respect_callee_timezone: true },
    TOLL_FREE,
    "2026-11-23T15:00:00.000Z",
    "The calling window 09:00-18:00 America/Adak, where the callee may be, is closed; there is no time within 400 days at which it is open in America/New_York and where the callee may be (America/Adak, America/Anchorage, America/Anguilla and 38 more) at once.",
    { until: null, next: null },
  ],
])("explain says which clock held it: %s", (_what, over, to, at, detail, rest) => {
  expect(windowOf(over, to, at)).toMatchObject({ verdict: "hold", detail, ...rest });
});

test.each<[string, Partial<ConfigurationRecord>, string, "pass" | "hold"]>([
  ["a number abroad", berlin, NEW_YORK, "hold"],
  ["where it is switched off", { ...berlin, respect_callee_timezone: false }, NEW_YORK, "pass"],
  ["a number at home in another zone", { timezone: "America/Los_Angeles", call_start_time: "01:00", call_end_time: "04:00" }, NEW_YORK, "pass"], // prettier-ignore
  ["where it is switched on", { timezone: "America/Los_Angeles", call_start_time: "01:00", call_end_time: "04:00", respect_callee_timezone: true }, NEW_YORK, "hold"], // prettier-ignore
  ["UTC lies in no country", {}, NEW_YORK, "hold"],
  ["a number of which nothing is known", berlin, "+80012345678", "pass"],
  ["all day, every day", { ...berlin, call_start_time: "00:00", call_end_time: "00:00" }, NEW_YORK, "pass"],
])("at five in the morning of the callee: %s", (_what, over, to, verdict) => {
  expect(windowOf(over, to, "2026-11-23T10:00:00.000Z").verdict).toBe(verdict);
});

test("open in both: until the first of them closes, and five seconds before it counts as closed", () => {
  expect(windowOf(berlin, NEW_YORK, "2026-11-23T15:00:00.000Z")).toMatchObject({
    verdict: "pass",
    detail:
      "The calling window 09:00-18:00 Europe/Berlin is open until 2026-11-23T17:00:00.000Z, also where the callee may be (America/New_York).",
  });
  expect(windowOf(berlin, NEW_YORK, "2026-11-23T16:59:56.000Z")).toMatchObject({
    verdict: "hold",
    until: "2026-11-24T14:00:00.000Z",
  });
});

test("the next instant is the first at which every clock is inside the window, as a minute-by-minute oracle finds it", () => {
  const MINUTE = 60_000;
  const hour = fc.integer({ min: 0, max: 23 }).map((h) => `${String(h).padStart(2, "0")}:30`);
  fc.assert(
    fc.property(
      hour,
      hour,
      fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"),
      fc.constantFrom(NEW_YORK, TOKYO, TOLL_FREE, "+61412345678", "+447911123456", "+5215512345678"),
      fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 3, maxLength: 7 }),
      fc.integer({ min: 0, max: 364 * 1440 }),
      (call_start_time, call_end_time, timezone, to, weekdays, minute) => {
        const c = configuration({ call_start_time, call_end_time, timezone, weekdays, respect_callee_timezone: true });
        const zones = [timezone, ...zonesOf(to)];
        const isOpen = (ms: number): boolean =>
          zones.every((zone) => windowState({ start: call_start_time, end: call_end_time, zone, weekdays }, new Date(ms)).open); // prettier-ignore
        const from = Date.UTC(2026, 0, 1) + minute * MINUTE;
        const state = ringableState(c, zonesOf(to), new Date(from));
        const edge = (state.open ? state.closes_at : state.opens_at)?.getTime() ?? null;
        expect(state.open).toBe(isOpen(from));
        const last = Math.min(edge ?? Number.POSITIVE_INFINITY, from + 4 * 1440 * MINUTE);
        for (let ms = from; ms < last; ms += 15 * MINUTE)
          if (isOpen(ms) !== state.open) throw new Error(`${new Date(ms).toISOString()} comes before ${String(edge)}`);
        if (edge !== null) expect(isOpen(edge)).toBe(!state.open);
      },
    ),
    { numRuns: 60 },
  );
}, 60_000);

test("a window that is never open for a number of forty zones is judged ten thousand times in a moment", () => {
  const c = configuration({ timezone: "America/New_York", respect_callee_timezone: true });
  const zones = zonesOf(TOLL_FREE);
  const began = process.cpuUsage();
  for (let i = 0; i < 10_000; i++) ringableState(c, zones, new Date(Date.UTC(2026, 10, 23) + i * 60_000));
  expect(process.cpuUsage(began).user / 1e6).toBeLessThan(20);
});
