import * as fc from "fast-check";
import {
  awaitPrice,
  emptyLedger,
  reserve,
  reservedIn,
  roomFor,
  settle,
  type Amounts,
  type Ledger,
  type SpendAmounts,
} from "../../../services/dialer/spend/spend-reservations.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";

/** What a ceiling lets attempts reserve, and what their ends commit. */
const NOON = new Date("2026-11-23T12:00:00.000Z");
const NEXT_DAY = new Date("2026-11-24T00:00:00.000Z");
const NEXT_MONTH = new Date("2026-12-01T00:00:00.000Z");
const call = (ref: string, minutes = 10, micros = 140_000) => ({ ref, calls: 1, minutes, micros, until: NEXT_DAY });
const two: SpendAmounts = { per_day: { calls: 2 } };
const after = (ledger: Ledger, ceiling: SpendAmounts, refs: readonly string[], now = NOON): Ledger =>
  refs.reduce((l, ref) => reserve(l, ceiling, call(ref), now).ledger, ledger);

test("of ten attempts at once as many reserve as the ceiling has calls, and a repeated one keeps its place", () => {
  const full = after(emptyLedger(NOON), two, ["a", "b", "c", "d", "e", "f", "g", "h", "i", "a"]);
  expect(full.reserved.map(({ ref }) => ref)).toEqual(["a", "b"]);
  expect(reserve(full, two, call("a"), NOON).result).toBeNull();
  expect(reserve(full, two, call("c"), NOON).result).toEqual({ period: "day", what: "calls", until: null });
});

test("an attempt that dialled nothing gives its place back; one that is settled twice counts once", () => {
  const full = after(emptyLedger(NOON), two, ["a", "b"]);
  const undone = settle(full, "a", { calls: 0, minutes: 0, micros: 0 }, NOON).ledger;
  expect(reserve(undone, two, call("c"), NOON).result).toBeNull();
  const once = settle(full, "b", { calls: 1, minutes: 2, micros: 28_000 }, NOON);
  const twice = settle(once.ledger, "b", { calls: 1, minutes: 2, micros: 28_000 }, NOON);
  expect([once.result, twice.result, twice.ledger]).toEqual([true, false, once.ledger]);
});

test.each<[keyof Amounts, SpendAmounts, Date]>([
  ["minutes", { per_day: { minutes: 19 } }, NEXT_DAY],
  ["micros", { per_day: { micros: 279_999 } }, NEXT_DAY],
  ["minutes", { per_month: { minutes: 19 } }, NEXT_MONTH],
  ["micros", { per_day: { micros: 1 }, per_month: { micros: 279_999 } }, NEXT_MONTH],
])(
  "the worst case of a leg counts in %s: %j; what is reserved may become free, what was taken does not",
  (what, ceiling, until) => {
    const reserved = after(emptyLedger(NOON), {}, ["a"]);
    const one: SpendAmounts = {
      per_month: ceiling.per_month ?? {},
      per_day: ceiling.per_month ? {} : (ceiling.per_day ?? {}),
    };
    expect(reserve(reserved, one, call("b"), NOON).result).toMatchObject({ what, until: null });
    const ended = settle(reserved, "a", call("a"), NOON).ledger;
    expect(reserve(ended, ceiling, call("b"), NOON).result).toMatchObject({ what, until });
  },
);

test("an ended call whose price is awaited keeps what it took by our own, then counts at the carrier's", () => {
  const ceiling = { per_day: { micros: 150_000 } };
  const ended = awaitPrice(
    after(emptyLedger(NOON), ceiling, ["a"]),
    "a",
    { calls: 1, minutes: 1, micros: 14_000 },
    NEXT_DAY,
    NOON,
  );
  expect([reservedIn(ended.ledger, "day"), ended.ledger.day.calls]).toEqual([
    { calls: 1, minutes: 1, micros: 14_000 },
    0,
  ]);
  expect(reserve(ended.ledger, ceiling, call("b"), NOON).result).toMatchObject({ what: "micros", until: null });
  const priced = settle(ended.ledger, "a", { calls: 1, minutes: 1, micros: 9000 }, NOON).ledger;
  expect(priced.day).toMatchObject({ calls: 1, minutes: 1, micros: 9000 });
  expect(reserve(priced, ceiling, call("b"), NOON).result).toBeNull();
});

test("room is what still fits of one worst case", () => {
  const one = after(emptyLedger(NOON), {}, ["a"]);
  const { calls, minutes, micros } = call("b");
  expect(roomFor(one, { per_day: { calls: 5 }, per_month: { minutes: 39 } }, { calls, minutes, micros }, 100)).toBe(2);
  expect(roomFor(one, { per_day: { calls: 1 } }, { calls, minutes, micros }, 100)).toBe(0);
  expect(roomFor(one, {}, { calls, minutes, micros }, 100)).toBe(100);
});

test("at midnight of UTC the day begins anew and the month goes on; a call counts where it was reserved", () => {
  const ceiling = { per_day: { calls: 1 }, per_month: { calls: 2 } };
  const first = after(emptyLedger(NOON), ceiling, ["a"]);
  const second = reserve(first, ceiling, call("b"), NEXT_DAY);
  expect(second.result).toBeNull();
  const ended = settle(second.ledger, "a", { calls: 1, minutes: 3, micros: 0 }, NEXT_DAY).ledger;
  expect([ended.day, ended.month]).toMatchObject([
    { key: "2026-11-24", calls: 0 },
    { key: "2026-11", calls: 1, minutes: 3 },
  ]);
  expect(reserve(ended, ceiling, call("c"), NEXT_DAY).result).toMatchObject({ period: "month", until: null });
});

test("a clock that is behind reserves in the day that has begun", () => {
  const begun = after(emptyLedger(NEXT_DAY), two, ["a", "b"], NEXT_DAY);
  expect(reserve(begun, two, call("c"), plusSeconds(NEXT_DAY, -1)).result).toMatchObject({ what: "calls" });
});

test("committed and reserved never pass the ceiling, whatever reserves and settles in whatever order", () => {
  const steps = fc.array(
    fc.record({
      ref: fc.integer({ min: 0, max: 12 }),
      ends: fc.boolean(),
      minutes: fc.integer({ min: 1, max: 9 }),
      took: fc.double({ min: 0, max: 1, noNaN: true }),
      hours: fc.integer({ min: 0, max: 30 }),
    }),
    { maxLength: 60 },
  );
  const most = fc.record({ calls: fc.integer({ min: 1, max: 6 }), minutes: fc.integer({ min: 1, max: 30 }) });
  fc.assert(
    fc.property(steps, most, most, (taken, per_day, per_month) => {
      let now = NOON;
      let ledger = emptyLedger(now);
      const seen = new Set<number>();
      for (const { ref, ends, minutes, took, hours } of taken) {
        now = plusSeconds(now, hours * 600);
        const own = ledger.reserved.find((r) => r.ref === String(ref));
        if (ends && own)
          ledger = settle(
            ledger,
            own.ref,
            { calls: 1, minutes: Math.floor(own.minutes * took), micros: 0 },
            now,
          ).ledger;
        else if (!seen.has(ref))
          ledger = reserve(ledger, { per_day, per_month }, call(String(ref), minutes), now).ledger;
        seen.add(ref);
        for (const [period, ceiling] of [
          ["day", per_day],
          ["month", per_month],
        ] as const)
          for (const what of ["calls", "minutes"] as const)
            expect(ledger[period][what] + reservedIn(ledger, period)[what]).toBeLessThanOrEqual(ceiling[what]);
      }
    }),
  );
});
