import { forecast, type World } from "../../../../local/tools/rehearse/forecast.ts";
import { hotline } from "../../../dialer/fixtures/inbound-plan.ts";

/** Spend ceilings in a rehearsal. A call of 600 s and what it may overrun are twelve started minutes; each here takes one. */
const { configuration } = hotline("7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00", "m");
const world = (spend: World["spend"]): World => ({
  plan: {
    template_id: "7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00",
    version: 1,
    is_active: true,
    max_age_seconds: 7 * 86_400,
    max_call_seconds: 600,
    retry_on: null,
    configuration,
  },
  pauses: { deployment: null, merchant: null },
  slots: { numbers: 1, free_lines: 10, home: null },
  calls_per_second: 0,
  country: "US",
  spend: spend ?? null,
});
const rehearsed = (spend: World["spend"], watch?: Parameters<typeof forecast>[2]) =>
  forecast(
    world(spend),
    {
      at: new Date("2026-11-23T08:00:00Z"),
      leads: 10,
      seed: 1,
      answer_rate: 1,
      spread: 0,
      ring_seconds: 10,
      call_seconds: 50,
      ring_timeout_seconds: 40,
    },
    watch,
  );

test("a spend ceiling holds dials back by the dialer's own rules, and they wait for the gate that explain names", () => {
  const dials: number[] = [];
  const ceilings = { merchant: { per_day: { minutes: 15 } } };
  const f = rehearsed({ ceilings, price: null }, (d) => dials.push(d.at));
  // one at a time, until what four took leaves no room for the worst case of another; the rest a day later each
  const byDay = [...Map.groupBy(dials, (at) => new Date(at).toISOString().slice(0, 10)).values()].map((d) => d.length);
  expect([byDay, f.peak_slots, f.reached]).toEqual([[4, 4, 2], 1, 10]);
  expect([...f.waited.keys()]).toEqual(["spend_ceiling"]);
});

test("money counts at the price that is given; without one it is left out", () => {
  const ceilings = { reseller: { per_day: { money: 0.24 } } };
  const [fits, dear, unknown] = [0.02, 0.03, null].map((price) => rehearsed({ ceilings, price }));
  expect([fits?.peak_slots, dear?.dials, unknown?.peak_slots]).toEqual([1, 0, 10]);
});
