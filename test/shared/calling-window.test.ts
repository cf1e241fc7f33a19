import * as fc from "fast-check";
import { IANAZone } from "luxon";
import { windowState, type CallingWindow } from "../../shared/calling-window.ts";

const at = (text: string): Date => new Date(text);
const all = (over: Partial<CallingWindow> = {}): CallingWindow => ({
  start: "09:00",
  end: "18:00",
  zone: "UTC",
  ...over,
});

describe("the calling window", () => {
  test.each<[string, CallingWindow, string, "open" | "shut", string | null]>([
    ["start is inside", all(), "2026-11-21T09:00:00.000Z", "open", "2026-11-21T18:00:00.000Z"],
    ["one millisecond before start", all(), "2026-11-21T08:59:59.999Z", "shut", "2026-11-21T09:00:00.000Z"],
    ["end is outside", all(), "2026-11-21T18:00:00.000Z", "shut", "2026-11-22T09:00:00.000Z"],
    ["equal times mean all day", all({ start: "10:00", end: "10:00" }), "2026-11-21T03:00:00.000Z", "open", null],
    [
      "start after end crosses midnight",
      all({ start: "22:00", end: "02:00" }),
      "2026-11-21T23:30:00.000Z",
      "open",
      "2026-11-22T02:00:00.000Z",
    ],
    [
      "in the morning of a window that crosses midnight",
      all({ start: "22:00", end: "02:00" }),
      "2026-11-22T01:59:00.000Z",
      "open",
      "2026-11-22T02:00:00.000Z",
    ],
    [
      "in a zone of half an hour",
      all({ zone: "Asia/Kolkata" }),
      "2026-11-21T03:30:00.000Z",
      "open",
      "2026-11-21T12:30:00.000Z",
    ],
    [
      "a start that a spring-forward gap swallows opens with the gap's end",
      all({ start: "02:30", end: "05:00", zone: "America/New_York" }),
      "2026-03-08T06:00:00.000Z",
      "shut",
      "2026-03-08T07:00:00.000Z",
    ],
    [
      "an hour that comes twice is open both times",
      all({ start: "01:00", end: "02:00", zone: "America/New_York" }),
      "2026-11-01T06:30:00.000Z",
      "open",
      "2026-11-01T07:00:00.000Z",
    ],
  ])("%s", (_name, window, now, state, next) => {
    const s = windowState(window, at(now));
    expect(s.open ? "open" : "shut").toBe(state);
    const edge = s.open ? s.closes_at : s.opens_at;
    expect(edge?.toISOString() ?? null).toBe(next);
  });

  const MINUTE = 60_000;
  const oracle = (w: CallingWindow, ms: number): boolean => {
    const zone = IANAZone.create(w.zone);
    const tod = ((((ms + zone.offset(ms) * MINUTE) / MINUTE) % 1440) + 1440) % 1440;
    const minute = (t: string): number => Number(t.slice(0, 2)) * 60 + Number(t.slice(3));
    const [s, e] = [minute(w.start), minute(w.end)];
    return s === e || (s < e ? tod >= s && tod < e : tod >= s || tod < e);
  };
  const TRANSITIONS = [
    "2026-03-08T07:00:00Z",
    "2026-03-29T01:00:00Z",
    "2026-10-25T01:00:00Z",
    "2026-11-01T06:00:00Z",
    "2026-04-04T15:00:00Z",
    "2026-10-03T15:30:00Z",
    "2027-03-14T07:00:00Z",
  ].map((t) => Date.parse(t));
  const ZONES = [
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "Africa/Cairo",
    "Pacific/Chatham",
    "Asia/Kolkata",
    "Africa/Casablanca",
    "UTC",
  ];
  const hhmm = fc
    .integer({ min: 0, max: 95 })
    .map((q) => `${String(Math.floor(q / 4)).padStart(2, "0")}:${String((q % 4) * 15).padStart(2, "0")}`);

  test("agrees with a minute-by-minute oracle around daylight-saving changes", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        hhmm,
        hhmm,
        fc.constantFrom(...TRANSITIONS),
        fc.integer({ min: -1500, max: 1500 }),
        (zone, start, end, around, minutes) => {
          const window = { zone, start, end };
          const from = Math.floor(around / MINUTE) * MINUTE + minutes * MINUTE;
          const state = windowState(window, new Date(from));
          expect(state.open).toBe(oracle(window, from));
          const edge = state.open ? state.closes_at : state.opens_at;
          if (edge === null) return;
          expect(oracle(window, edge.getTime())).toBe(!state.open);
          for (let ms = from; ms < edge.getTime(); ms += MINUTE)
            if (oracle(window, ms) !== state.open)
              throw new Error(
                `${zone} ${start}-${end}: the state changes at ${new Date(ms).toISOString()}, not first at ${edge.toISOString()}`,
              );
        },
      ),
      { numRuns: 150 },
    );
  });
});
