import { forecast, type World } from "../../../../local/tools/rehearse/forecast.ts";
import { report } from "../../../../local/tools/rehearse/report.ts";
import type { ConfigurationRecord } from "../../../../shared/contracts/records/configuration.ts";
import { zonesOf } from "../../../../shared/numbering/callee-zones.ts";
import { configuration, plan } from "../../../scheduler/fixtures/gate-inputs.ts";

/** A rehearsal for callees abroad: their clock counts as it does in the scheduler. */

const AT = new Date("2026-11-23T08:00:00.000Z"); // a Monday: 09:00 in Berlin, 03:00 in New York
const world = (to: string, over: Partial<ConfigurationRecord> = {}): World => ({
  plan: plan({
    max_age_seconds: 86_400,
    configuration: configuration({ timezone: "Europe/Berlin", respect_callee_timezone: null, ...over }),
  }),
  pauses: { deployment: null, merchant: null },
  slots: { numbers: 1, free_lines: 10, home: null },
  calls_per_second: 0,
  country: "US",
  callee_zones: zonesOf(to),
});
const rehearsal = {
  at: AT,
  leads: 50,
  seed: 1,
  answer_rate: 1,
  ring_seconds: 5,
  call_seconds: 30,
  ring_timeout_seconds: 40,
  spread: 0.5,
};
const saidOf = (w: World): string =>
  report({ name: "reminder", world: w, rehearsal, forecast: forecast(w, rehearsal) }).join("\n");

test("nobody in New York is called before nine there, and the report says whose clock counts", () => {
  const w = world("+12125551234");
  const dials: number[] = [];
  forecast(w, rehearsal, ({ at }) => dials.push(at));
  expect(new Date(Math.min(...dials)).toISOString()).toBe("2026-11-23T14:00:00.000Z");
  expect(dials).toHaveLength(50);
  expect(saidOf(w)).toContain("window 09:00-18:00 Europe/Berlin, and on the callee's clock (America/New_York) ·");
});

test("callees who may be anywhere from Guam to Puerto Rico are never in the window: the report says what holds the leads, and that they expire", () => {
  const said = saidOf(world("+18005551234", { timezone: "America/New_York", respect_callee_timezone: true }));
  expect(said).toMatch(/Held by window: The calling window .*; there is no time within 400 days at which it is open in America\/New_York and where the callee may be/); // prettier-ignore
  expect(said).toContain("50 leads would expire");
});
