/** What calls take: their number, started minutes, and money in millionths of the deployment's currency. */
export interface Amounts {
  calls: number;
  minutes: number;
  micros: number;
}

/** What an ended leg took; `micros` null: nobody named a price, so its minutes count at the one that they were reserved at, whatever it is by now. */
export type Took = Omit<Amounts, "micros"> & { micros: number | null };

/** The most that calls may take in a period; a field that is absent limits nothing. */
export type PeriodCeiling = Partial<Amounts>;

/** Ceilings of a merchant or a reseller, for days and months of UTC. */
export interface SpendAmounts {
  per_day?: PeriodCeiling;
  per_month?: PeriodCeiling;
}

/** What a leg may take at most, kept until it is settled. `day`, `month`: the periods in which it counts. `until`: from here on its call is asked for. */
export interface Reservation extends Amounts {
  ref: string;
  day: string;
  month: string;
  until: Date;
  /** Of a leg that a call is handed on to: from when it counts, and the price of a minute. */
  leg?: { from: Date; micros_per_minute: number };
  /** Its call is over, and what is kept is what it took by our own price, until the carrier has named its own. */
  unpriced?: true;
}

/** What ended calls took within a period, which is named by its `key`: `2026-11-24` or `2026-11`. */
export interface Committed extends Amounts {
  key: string;
}

/** What calls of one merchant or reseller took, and may yet take. */
export interface Ledger {
  day: Committed;
  month: Committed;
  reserved: readonly Reservation[];
}

/** The worst case of one leg. */
export type Wanted = Pick<Reservation, keyof Amounts | "ref" | "until" | "leg">;

/** Why one more leg does not fit, and when its period ends; `until` null: legs under way may take less than is reserved for them. */
export interface Reached {
  period: "day" | "month";
  what: keyof Amounts | "reservations";
  until: Date | null;
}

/** Most legs with a reservation in one ledger: its document stays below a megabyte. */
export const MAX_RESERVATIONS = 5000;
/** Most calls in one ledger whose price is awaited; the others count by our own price. */
const MAX_UNPRICED = 1000;

const DAY_CHARS = 10;
const MONTH_CHARS = 7;
const PERIODS = ["month", "day"] as const;
const WHAT = ["calls", "minutes", "micros"] as const satisfies readonly (keyof Amounts)[];
/** What an attempt took that dialled nothing. */
export const NOTHING: Amounts = { calls: 0, minutes: 0, micros: 0 };

const plus = (a: Amounts, b: Amounts): Amounts => ({
  calls: a.calls + b.calls,
  minutes: a.minutes + b.minutes,
  micros: a.micros + b.micros,
});

/** A ledger without any call. Pure. */
export const emptyLedger = (now: Date): Ledger => ({
  day: { ...NOTHING, key: now.toISOString().slice(0, DAY_CHARS) },
  month: { ...NOTHING, key: now.toISOString().slice(0, MONTH_CHARS) },
  reserved: [],
});

const later = (kept: Committed, fresh: Committed): Committed => (fresh.key > kept.key ? fresh : kept);

/** The ledger with the periods of `now`: one that began stays begun, for a clock that is behind. Pure. */
export function rolled(ledger: Ledger, now: Date): Ledger {
  const fresh = emptyLedger(now);
  return { ...ledger, day: later(ledger.day, fresh.day), month: later(ledger.month, fresh.month) };
}

/** What the legs under way may yet take of the ledger's own period. Pure. */
export const reservedIn = ({ reserved, ...of }: Ledger, period: "day" | "month"): Amounts =>
  reserved.filter((r) => r[period] === of[period].key).reduce<Amounts>(plus, NOTHING);

function endOf(period: "day" | "month", { day, month }: Ledger): Date {
  const [year = 0, nth = 1, date = 1] = (period === "day" ? day.key : month.key).split("-").map(Number);
  return new Date(period === "day" ? Date.UTC(year, nth - 1, date + 1) : Date.UTC(year, nth, 1));
}

const mostOf = ({ per_day, per_month }: SpendAmounts, period: "day" | "month"): PeriodCeiling =>
  (period === "day" ? per_day : per_month) ?? {};

/** Why the ceiling leaves no room for what is wanted, the period that ends last; null: it fits. Of a ledger that is rolled. Pure. */
export function reachedBy(ledger: Ledger, ceiling: SpendAmounts, wanted: Amounts): Reached | null {
  const reached = PERIODS.flatMap((period) => {
    const most = mostOf(ceiling, period);
    const ended = plus(ledger[period], wanted);
    const all = plus(ended, reservedIn(ledger, period));
    return WHAT.filter((what) => all[what] > (most[what] ?? Infinity)).map((what): Reached => ({
      period,
      what,
      until: ended[what] > (most[what] ?? 0) ? endOf(period, ledger) : null,
    }));
  });
  const full: Reached[] =
    ledger.reserved.length < MAX_RESERVATIONS ? [] : [{ period: "day", what: "reservations", until: null }];
  return reached.find(({ until }) => until !== null) ?? reached[0] ?? full[0] ?? null;
}

/** How many more legs of this worst case fit, `most` at most. Of a ledger that is rolled. Pure. */
export function roomFor(ledger: Ledger, ceiling: SpendAmounts, wanted: Amounts, most: number): number {
  const rooms = PERIODS.flatMap((period) => {
    const taken = plus(ledger[period], reservedIn(ledger, period));
    const of = mostOf(ceiling, period);
    return WHAT.flatMap((what) =>
      of[what] === undefined || wanted[what] === 0 ? [] : [Math.floor((of[what] - taken[what]) / wanted[what])],
    );
  });
  return Math.max(0, Math.min(most, MAX_RESERVATIONS - ledger.reserved.length, ...rooms));
}

/** A ledger after a step, and what the step came to. */
export interface Step<T> {
  ledger: Ledger;
  result: T;
}

/** Reserves the worst case of a leg; one that has a reservation keeps it. `result`: why it has none, null: it has one. Pure. */
export function reserve(ledger: Ledger, ceiling: SpendAmounts, wanted: Wanted, now: Date): Step<Reached | null> {
  const current = rolled(ledger, now);
  if (current.reserved.some(({ ref }) => ref === wanted.ref)) return { ledger: current, result: null };
  const result = reachedBy(current, ceiling, wanted);
  if (result !== null) return { ledger: current, result };
  const own: Reservation = { ...wanted, day: current.day.key, month: current.month.key };
  return { ledger: { ...current, reserved: [...current.reserved, own] }, result };
}

const pricedBy = ({ minutes, micros }: Reservation, took: Took): Amounts => ({
  ...took,
  micros: took.micros ?? (minutes === 0 ? 0 : took.minutes * (micros / minutes)),
});

/** Commits what a leg took, in the periods of its reservation, and ends that. `result`: it had one, so that settling twice counts once. Pure. */
export function settle(ledger: Ledger, ref: string, took: Took, now: Date): Step<boolean> {
  const current = rolled(ledger, now);
  const own = current.reserved.find((r) => r.ref === ref);
  if (own === undefined) return { ledger: current, result: false };
  const committed = (of: Committed, key: string): Committed =>
    of.key === key ? { ...of, ...plus(of, pricedBy(own, took)) } : of;
  return {
    ledger: {
      day: committed(current.day, own.day),
      month: committed(current.month, own.month),
      reserved: current.reserved.filter((r) => r !== own),
    },
    result: true,
  };
}

const replaced = (ledger: Ledger, ref: string, with_: Partial<Reservation>): Ledger => ({
  ...ledger,
  reserved: ledger.reserved.map((r) => (r.ref === ref ? { ...r, ...with_ } : r)),
});

/** The call is over and took this by our own price; so much stays reserved until the carrier's is known, at the latest until then. Pure. */
export function awaitPrice(ledger: Ledger, ref: string, took: Took, until: Date, now: Date): Step<boolean> {
  const current = rolled(ledger, now);
  const own = current.reserved.find((r) => r.ref === ref);
  if (own === undefined) return { ledger: current, result: false };
  const awaited = current.reserved.filter((r) => r.unpriced === true && r.ref !== ref).length;
  if (awaited >= MAX_UNPRICED) return settle(current, ref, took, now);
  return { ledger: replaced(current, ref, { ...pricedBy(own, took), until, unpriced: true }), result: true };
}

/** The call of a reservation is asked for again then. Pure. */
export const postpone = (ledger: Ledger, ref: string, until: Date): Step<null> => ({
  ledger: replaced(ledger, ref, { until }),
  result: null,
});

const MS_PER_MINUTE = 60_000;

/** What a leg took that a call was handed on to, until it ended. Pure. */
export function legTook({ leg, calls, minutes, micros }: Reservation, ended_at: Date): Amounts {
  if (leg === undefined) return { calls, minutes, micros };
  const started = Math.max(1, Math.ceil((ended_at.getTime() - leg.from.getTime()) / MS_PER_MINUTE));
  return { calls, minutes: started, micros: started * leg.micros_per_minute };
}
