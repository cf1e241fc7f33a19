import * as fc from "fast-check";
import { LOOK_AHEAD_DAYS, shutBy, wallDay, windowState, type CallingWindow } from "../../shared/calling-window.ts";
import { played } from "../fixtures/long-form.ts";

/** The days of a calling window: weekdays and holidays, on the calendar of the window's zone. */

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const at = (text: string): Date => new Date(text);
const office = (over: Partial<CallingWindow> = {}): CallingWindow => ({
  start: "09:00",
  end: "18:00",
  zone: "Europe/Berlin",
  weekdays: [1, 2, 3, 4, 5],
  holidays: ["--12-25", "2026-12-28"],
  ...over,
});

test.each<[string, CallingWindow, string, string, string | null]>([
  ["a Friday evening waits for Monday", office(), "2026-11-20T18:00:00Z", "hours", "2026-11-23T08:00:00.000Z"],
  ["a Saturday", office(), "2026-11-21T10:00:00Z", "weekday", "2026-11-23T08:00:00.000Z"],
  ["a holiday of each year, then a weekend, then one of this year", office(), "2026-12-25T10:00:00Z", "holiday", "2026-12-29T08:00:00.000Z"], // prettier-ignore
  ["the same day of another year", office(), "2028-12-25T10:00:00Z", "holiday", "2028-12-26T08:00:00.000Z"],
  ["the date of this year in the next is no holiday", office(), "2027-12-28T10:00:00Z", "open", "2027-12-28T17:00:00.000Z"], // prettier-ignore
  ["it is a holiday where the clock is, not in UTC", office({ zone: "Pacific/Auckland" }), "2026-12-24T21:00:00Z", "holiday", "2026-12-28T20:00:00.000Z"], // prettier-ignore
  ["hours over midnight end where the next day is shut", office({ start: "22:00", end: "06:00" }), "2026-11-20T22:00:00Z", "open", "2026-11-20T23:00:00.000Z"], // prettier-ignore
  ["and go on after midnight where it is open", office({ start: "22:00", end: "06:00" }), "2026-11-18T22:00:00Z", "open", "2026-11-19T05:00:00.000Z"], // prettier-ignore
  ["they begin at midnight of the first open day", office({ start: "22:00", end: "06:00" }), "2026-11-22T12:00:00Z", "weekday", "2026-11-22T23:00:00.000Z"], // prettier-ignore
  ["all day, on workdays", office({ start: "00:00", end: "00:00" }), "2026-11-20T12:00:00Z", "open", "2026-11-20T23:00:00.000Z"], // prettier-ignore
  ["a leap day comes after three years", office({ weekdays: [2], holidays: ["--02-29"] }), "2028-02-29T10:00:00Z", "holiday", "2028-03-07T08:00:00.000Z"], // prettier-ignore
])("%s", (_name, window, now, why, next) => {
  const state = windowState(window, at(now));
  expect([shutBy(window, at(now)) ?? "open", (state.open ? state.closes_at : state.opens_at)?.toISOString()]).toEqual([
    why,
    next,
  ]);
});

test("a window that holidays shut for longer than is looked ahead says so, and is found in no time", () => {
  const mondays = Array.from({ length: 60 }, (_, i) => new Date(Date.UTC(2026, 10, 23) + i * 7 * DAY));
  const window = office({ weekdays: [1], holidays: mondays.map((day) => day.toISOString().slice(0, 10)) });
  expect(60 * 7).toBeGreaterThan(LOOK_AHEAD_DAYS);
  expect(windowState(window, at("2026-11-23T10:00:00Z"))).toEqual({ open: false, opens_at: null });
  expect(windowState(window, at("2027-03-01T10:00:00Z"))).toMatchObject({ opens_at: at("2028-01-17T08:00:00Z") });
});

test("the day on the wall is that of the zone", () => {
  expect(wallDay("Pacific/Kiritimati", at("2026-11-22T11:00:00Z"))).toEqual({ date: "2026-11-23", weekday: 1 });
  expect(wallDay("Pacific/Pago_Pago", at("2026-11-22T10:59:00Z"))).toEqual({ date: "2026-11-21", weekday: 6 });
});

/** The oracle reads the runtime's own formatter, minute by minute: no offset, no arithmetic of days. */
const WORDS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
function oracle(window: CallingWindow): (ms: number) => boolean {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: window.zone,
    weekday: "short",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  return (ms) => {
    const of = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
    const date = `${of["year"]}-${of["month"]}-${of["day"]}`;
    const time = `${of["hour"]}:${of["minute"]}`;
    if (!(window.weekdays ?? []).includes(WORDS.indexOf(of["weekday"] ?? "") + 1)) return false;
    if (window.holidays?.includes(date) === true || window.holidays?.includes(`-${date.slice(4)}`) === true)
      return false;
    const { start, end } = window;
    if (start === end) return true;
    return start < end ? time >= start && time < end : time >= start || time < end;
  };
}

const AROUND = [
  "2026-03-29T01:00:00Z", // Berlin forward
  "2026-10-25T01:00:00Z", // Berlin back
  "2026-11-01T05:00:00Z", // Havana back at midnight
  "2026-03-08T05:00:00Z", // Havana forward at midnight
  "2026-04-24T22:00:00Z", // Cairo forward at midnight
  "2026-10-29T21:00:00Z", // Cairo back at midnight: the same date twice
  "2026-10-03T15:30:00Z", // Lord Howe, by half an hour
  "2026-12-31T23:00:00Z",
].map((t) => Date.parse(t));
const ZONES = ["Europe/Berlin", "America/Havana", "Africa/Cairo", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"];

test("the next instant that is open, or shut, is the one of a minute-by-minute oracle", () => {
  const quarter = fc
    .integer({ min: 0, max: 95 })
    .map((q) => `${String(Math.floor(q / 4)).padStart(2, "0")}:${String((q % 4) * 15).padStart(2, "0")}`);
  const offset = fc.integer({ min: -2, max: 4 });
  fc.assert(
    fc.property(
      fc.record({
        zone: fc.constantFrom(...ZONES),
        start: quarter,
        end: quarter,
        around: fc.constantFrom(...AROUND),
        minutes: fc.integer({ min: -2000, max: 1500 }),
        weekdays: fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 2, maxLength: 7 }),
        days: fc.uniqueArray(offset, { maxLength: 3 }),
        annual: fc.boolean(),
      }),
      ({ around, minutes, days, annual, ...rest }) => {
        const date = (day: number): string => new Date(around + day * DAY).toISOString().slice(annual ? 5 : 0, 10);
        const window = { ...rest, holidays: days.map((day) => `${annual ? "--" : ""}${date(day)}`) };
        const isOpen = oracle(window);
        const from = Math.floor(around / MINUTE) * MINUTE + minutes * MINUTE;
        const state = windowState(window, new Date(from));
        expect(state.open).toBe(isOpen(from));
        const edge = (state.open ? state.closes_at : state.opens_at)?.getTime() ?? null;
        const last = edge ?? from + 12 * DAY;
        for (let ms = from; ms < last; ms += MINUTE)
          if (isOpen(ms) !== state.open)
            throw new Error(`${JSON.stringify(window)}: from ${new Date(from).toISOString()} the state changes at ${new Date(ms).toISOString()}, not first at ${new Date(last).toISOString()}`); // prettier-ignore
        if (edge !== null) expect(isOpen(edge)).toBe(!state.open);
      },
    ),
    { numRuns: played(50, 200) },
  );
}, 120_000);
