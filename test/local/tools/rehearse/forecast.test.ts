import * as fc from "fast-check";
import { forecast, type Rehearsal, type World } from "../../../../local/tools/rehearse/forecast.ts";
import { createHeap } from "../../../../local/tools/rehearse/time-heap.ts";
import { callingClocks } from "../../../../shared/time/calling-clocks.ts";
import { windowState } from "../../../../shared/calling-window.ts";
import type { ConfigurationRecord } from "../../../../shared/contracts/records/configuration.ts";

const ID = "7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00";
const DAY = 86_400;
const configuration: ConfigurationRecord = {
  id: ID,
  reseller_id: "r",
  merchant_id: "m",
  template_id: ID,
  template: "t",
  initial_offset: 0,
  retry_offset: 900,
  call_start_time: "00:00",
  call_end_time: "00:00",
  timezone: "Europe/Berlin",
  max_retry: 2,
  calling_provider: "PROVIDER_ONE",
  enable_calling: true,
  enable_international_call: true,
  enable_inbound: false,
  inbound_call_start_time: null,
  inbound_call_end_time: null,
  inbound_call_timezone: null,
  inbound_block_action: "REJECT",
  inbound_redirect_number: null,
  inbound_block_message: null,
  inbound_webhook_url: null,
  inbound_max_calls_per_caller: 10,
  inbound_caller_window_seconds: 3600,
  record_calls: true,
  voicemail_action: "hangup",
  engine: null,
  enforce_blacklist: true,
  rate_limit_enabled: false,
  rate_limit_max_calls: null,
  rate_limit_window_seconds: 3600,
  rate_limit_whitelist: [],
  pre_checks: [],
  created_at: "2026-01-01T00:00:00.000Z",
  updated_at: "2026-01-01T00:00:00.000Z",
};
const world = (
  over: Partial<ConfigurationRecord> = {},
  more: Partial<Omit<World, "plan">> & { max_age_seconds?: number; retry_on?: string[] } = {},
): World => {
  const { max_age_seconds = 7 * DAY, retry_on, ...rest } = more;
  return {
    plan: {
      template_id: ID,
      version: 1,
      is_active: true,
      max_age_seconds,
      max_call_seconds: 600,
      retry_on: retry_on ?? null,
      configuration: { ...configuration, ...over },
    },
    pauses: { deployment: null, merchant: null },
    slots: { numbers: 10, free_lines: 1000, home: null },
    calls_per_second: 0,
    country: "DE",
    ...rest,
  };
};
const rehearsal = (over: Partial<Rehearsal> = {}): Rehearsal => ({
  at: new Date("2026-11-23T06:00:00Z"),
  leads: 100,
  seed: 1,
  answer_rate: 1,
  ring_seconds: 0,
  call_seconds: 60,
  ring_timeout_seconds: 40,
  spread: 0,
  ...over,
});
const office = { call_start_time: "09:00", call_end_time: "18:00" };
const rate = (rate_limit_max_calls: number, rate_limit_window_seconds = 3600) => ({
  rate_limit_enabled: true,
  rate_limit_max_calls,
  rate_limit_window_seconds,
});
const hours = (f: ReturnType<typeof forecast>, gate: Parameters<typeof f.waited.get>[0]) => f.waited.get(gate) ?? 0;
const perHour = (f: ReturnType<typeof forecast>): number[] => {
  const sums = new Map<number, number>();
  for (const [at, n] of f.by_quarter)
    sums.set(Math.floor(at / 3_600_000), (sums.get(Math.floor(at / 3_600_000)) ?? 0) + n);
  return [...sums.values()];
};

describe("forecast", () => {
  test("100 leads at 10 an hour between 09 and 18 take two days", () => {
    const f = forecast(world({ ...office, ...rate(10) }), rehearsal());
    expect([f.dials, f.reached, f.ended.size, f.stuck]).toEqual([100, 100, 0, null]);
    expect(perHour(f)).toEqual([...Array.from({ length: 9 }, () => 10), 10]);
    expect(f.finish_at.toISOString()).toBe("2026-11-24T08:01:00.000Z");
    expect(hours(f, "window")).toBeCloseTo(100 * 2 + 10 * 15, -1);
    expect(hours(f, "rate_limit")).toBeGreaterThan(300);
  });

  test("one number with one line and talks of a minute make 60 an hour", () => {
    const f = forecast(world({}, { slots: { numbers: 1, free_lines: 1, home: null } }), rehearsal({ leads: 180 }));
    expect(perHour(f)).toEqual([60, 60, 60]);
    expect([f.finish_at.toISOString(), f.peak_slots]).toEqual(["2026-11-23T09:00:00.000Z", 1]);
    expect(hours(f, "line")).toBeCloseTo((180 * 179) / 2 / 60, 3);
  });

  test("a carrier's calls per second are not passed", () => {
    const dials: number[] = [];
    forecast(world({}, { calls_per_second: 5 }), rehearsal({ leads: 60 }), ({ at }) => dials.push(at));
    for (const [i, at] of dials.entries()) if (i >= 5) expect(at - dials[i - 5]!).toBeGreaterThanOrEqual(1000);
    expect(dials.at(-1)! - dials[0]!).toBeLessThan(15_000);
  });

  test("nobody answers: every lead is tried again until its tries are used up, each time after its offset", () => {
    const f = forecast(world({ max_retry: 2, retry_offset: 600 }), rehearsal({ answer_rate: 0 }));
    expect([f.dials, f.reached, [...f.ended]]).toEqual([300, 0, [["no_answer", 100]]]);
    expect(f.finish_at.toISOString()).toBe("2026-11-23T06:22:00.000Z");
    expect(hours(f, "due")).toBeCloseTo((100 * 2 * 600) / 3600, 3);
  });

  test("the template's retry_on is obeyed", () => {
    expect(forecast(world({}, { retry_on: ["busy"] }), rehearsal({ answer_rate: 0 })).dials).toBe(100);
    expect(forecast(world({ max_retry: 3 }, { retry_on: ["reached"] }), rehearsal({ leads: 10 })).dials).toBe(40);
  });

  test("leads that nobody could call in time expire", () => {
    const f = forecast(world(rate(10), { max_age_seconds: 2 * 3600 }), rehearsal());
    expect([f.dials, f.reached, [...f.ended]]).toEqual([20, 20, [["EXPIRED", 80]]]);
    expect(f.finish_at.toISOString()).toBe("2026-11-23T08:00:00.000Z");
    const retried = forecast(
      world({ retry_offset: 3600, max_retry: 20 }, { max_age_seconds: 2 * 3600 }),
      rehearsal({ answer_rate: 0 }),
    );
    expect([retried.dials, [...retried.ended]]).toEqual([200, [["EXPIRED", 100]]]);
  });

  test("initial_offset is waited for", () => {
    const f = forecast(world({ initial_offset: 7200 }), rehearsal({ leads: 10 }));
    expect([f.finish_at.toISOString(), hours(f, "due")]).toEqual(["2026-11-23T08:01:00.000Z", 20]);
  });

  test("the merchant's cap on calls per callee holds retries back, each lead by its own calls", () => {
    const DAY_HOURS = 24;
    const nobody = rehearsal({ answer_rate: 0, leads: 10 });
    const capped = { callee_cap: { per_day: 2, per_week: 3 } };
    const f = forecast(world({ max_retry: 3, retry_offset: 600 }, { ...capped, max_age_seconds: 30 * DAY }), nobody);
    expect([f.dials, [...f.ended]]).toEqual([40, [["no_answer", 10]]]);
    // twice at once, the third time after a day, the fourth after a week
    expect(f.finish_at.toISOString().slice(0, 10)).toBe("2026-11-30");
    expect(hours(f, "callee_capped")).toBeGreaterThan(10 * 6 * DAY_HOURS);
    const expiring = forecast(world({ max_retry: 3, retry_offset: 600 }, capped), nobody);
    expect([expiring.dials, [...expiring.ended]]).toEqual([30, [["EXPIRED", 10]]]);
    const none = forecast(world({ max_retry: 3, retry_offset: 600 }, { callee_cap: null }), nobody);
    expect([none.dials, none.waited.has("callee_capped")]).toEqual([40, false]);
  });

  test.each<[string, World, string, RegExp]>([
    ["calling is off", world({ enable_calling: false }), "calling_enabled", /enable_calling/],
    [
      "the merchant is paused",
      world(
        {},
        {
          pauses: {
            deployment: null,
            merchant: { at: "2026-11-01T00:00:00.000Z", by: "user:1", reason: "stock-taking" },
          },
        },
      ),
      "merchant",
      /stock-taking/,
    ],
    ["there is no number", world({}, { slots: { numbers: 0, free_lines: 0, home: null } }), "line", /no usable number/],
    [
      "there is no configuration",
      { ...world(), plan: { ...world().plan, configuration: null } },
      "configuration",
      /no configuration/,
    ],
    [
      "the template is off",
      { ...world(), plan: { ...world().plan, is_active: false } },
      "template_active",
      /switched off/,
    ],
  ])("%s: nobody is called, and it is said why", (_what, w, gate, detail) => {
    const f = forecast(w, rehearsal());
    expect([f.dials, [...f.ended], f.stuck?.gate]).toEqual([0, [["EXPIRED", 100]], gate]);
    expect(f.stuck?.detail).toMatch(detail);
    expect(hours(f, f.stuck!.gate)).toBeCloseTo(100 * 7 * 24, 3);
  });

  test("with international calls off only home numbers count, and without any the leads are dropped", () => {
    const off = { enable_international_call: false };
    const some = forecast(
      world(off, { slots: { numbers: 5, free_lines: 50, home: { numbers: 1, free_lines: 2 } } }),
      rehearsal(),
    );
    expect([some.peak_slots, some.slots, some.reached]).toEqual([2, 2, 100]);
    expect([
      ...forecast(
        world(off, { slots: { numbers: 5, free_lines: 50, home: { numbers: 0, free_lines: 0 } } }),
        rehearsal(),
      ).ended,
    ]).toEqual([["INTERNATIONAL_BLOCKED", 100]]);
  });

  test("the same seed gives the same forecast, another one another", () => {
    const run = (seed: number) =>
      forecast(world({ ...office, ...rate(40) }), rehearsal({ seed, answer_rate: 0.5, spread: 0.5, leads: 300 }));
    expect(run(7)).toEqual(run(7));
    expect(run(8).finish_at).not.toEqual(run(7).finish_at);
  });

  test("no dial breaks a limit: window, rate, carrier, slots; and every lead ends exactly once", () => {
    const limits = fc.record({
      slots: fc.integer({ min: 1, max: 12 }),
      max: fc.integer({ min: 1, max: 60 }),
      window: fc.integer({ min: 10, max: 3600 }),
      cps: fc.integer({ min: 0, max: 5 }),
      start: fc.integer({ min: 0, max: 23 }),
      length: fc.integer({ min: 1, max: 23 }),
      leads: fc.integer({ min: 1, max: 150 }),
      answer_rate: fc.double({ min: 0, max: 1, noNaN: true }),
      seed: fc.integer(),
    });
    fc.assert(
      fc.property(limits, (l) => {
        const hh = (h: number): string => `${String(h % 24).padStart(2, "0")}:00`;
        const w = world(
          {
            ...rate(l.max, l.window),
            call_start_time: hh(l.start),
            call_end_time: hh(l.start + l.length),
            max_retry: 1,
          },
          { slots: { numbers: 1, free_lines: l.slots, home: null }, calls_per_second: l.cps },
        );
        const dials: { at: number; ends_at: number }[] = [];
        const f = forecast(
          w,
          rehearsal({ leads: l.leads, answer_rate: l.answer_rate, seed: l.seed, spread: 0.5, ring_seconds: 10 }),
          (d) => dials.push(d),
        );
        const c = w.plan.configuration!;
        const ordered = dials.map((d) => d.at).sort((a, b) => a - b);
        for (const [i, at] of ordered.entries()) {
          if (i >= l.max) expect(at - ordered[i - l.max]!).toBeGreaterThanOrEqual(l.window * 1000);
          if (l.cps > 0 && i >= l.cps) expect(at - ordered[i - l.cps]!).toBeGreaterThanOrEqual(1000);
          for (const { window } of callingClocks(c, [])) expect(windowState(window, new Date(at)).open).toBe(true);
        }
        for (const d of dials)
          expect(dials.filter((o) => o.at <= d.at && o.ends_at > d.at).length).toBeLessThanOrEqual(l.slots);
        expect(f.reached + [...f.ended.values()].reduce((a, b) => a + b, 0)).toBe(l.leads);
        expect([...f.by_quarter.values()].reduce((a, b) => a + b, 0)).toBe(dials.length);
      }),
      { numRuns: 40 },
    );
  }, 60_000);

  test("20,000 leads take a second or so of the processor", () => {
    const before = process.cpuUsage();
    const f = forecast(
      world({ ...office, ...rate(10_000) }, { calls_per_second: 50 }),
      rehearsal({ leads: 20_000, answer_rate: 0.6, spread: 0.5, ring_seconds: 10 }),
    );
    expect(f.reached + [...f.ended.values()].reduce((a, b) => a + b, 0)).toBe(20_000);
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(10);
  }, 60_000);
});

test("the heap gives things back in the order of their times, equal ones in that of their coming", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 200 }), (times) => {
      const heap = createHeap<number>();
      for (const [i, at] of times.entries()) heap.push(at, i);
      const out = [...times.keys()].map(() => heap.pop()!);
      expect(out).toEqual([...times.keys()].sort((a, b) => times[a]! - times[b]! || a - b));
      expect([heap.size, heap.next(), heap.pop()]).toEqual([0, null, null]);
    }),
  );
});
