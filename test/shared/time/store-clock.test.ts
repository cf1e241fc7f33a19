import * as fc from "fast-check";
import {
  afterReading,
  boundsAt,
  DRIFT,
  FOLLOW_AFTER_MS,
  type OffsetBounds,
} from "../../../shared/time/clock-offset.ts";
import { clockBy, createStoreClock, KNOWN_FOR_MS, type ToldTime } from "../../../shared/time/store-clock.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

/** Where the store's clock is ahead of monotonic time at the beginning. */
const OFFSET = 1_800_000_000_000;

test("whatever the answers' ways and the drift, the true offset lies within the bounds, and good readings keep them narrow", () => {
  const reading = fc.record({
    pause: fc.integer({ min: 0, max: 20_000 }),
    out: fc.integer({ min: 0, max: 600 }),
    back: fc.integer({ min: 0, max: 600 }),
  });
  fc.assert(
    fc.property(
      fc.array(reading, { minLength: 1, maxLength: 30 }),
      fc.double({ min: -DRIFT / 2, max: DRIFT / 2, noNaN: true }),
      (readings, drift) => {
        const storeAt = (mono: number): number => OFFSET + mono * (1 + drift);
        let mono = 1000;
        let known: OffsetBounds | null = null;
        for (const { pause, out, back } of readings) {
          mono += pause;
          const [asked_ms, answered_ms] = [mono, mono + out + back];
          const { bounds, stepped_ms }: ReturnType<typeof afterReading> = afterReading(known, {
            asked_ms,
            answered_ms,
            store_ms: Math.floor(storeAt(asked_ms + out)),
          });
          known = bounds;
          mono = answered_ms;
          expect(stepped_ms).toBe(0);
          for (const later of [0, 100, 5000]) {
            const { low_ms, high_ms } = boundsAt(known, mono + later);
            const truth = storeAt(mono + later) - (mono + later);
            // sums of this size are exact to a quarter of a microsecond
            expect(truth).toBeGreaterThanOrEqual(low_ms - 0.001);
            expect(truth).toBeLessThanOrEqual(high_ms + 0.001);
          }
          expect(known.high_ms - known.low_ms).toBeLessThanOrEqual((out + back) * (1 + 2 * DRIFT) + 1.01);
        }
      },
    ),
  );
});

/** A clock over a store that is `ahead` of it; each answer takes so long, out and back. */
function over(
  store: { ahead: number; outMs?: number; backMs?: number; away?: boolean; left?: ToldTime },
  { holds = true } = {},
) {
  const virtual = virtualClock();
  const slept = { ms: 0 };
  const clock = { ...virtual, sleptMs: () => slept.ms };
  const log: Record<string, unknown>[] = [];
  const note = (fields: unknown): void => void log.push(fields as Record<string, unknown>);
  const storeNow = (): number => OFFSET + store.ahead + slept.ms + clock.monotonicMs();
  const told: ToldTime[] = [];
  const storeClock = createStoreClock({
    clock,
    log: { error: note, warn: note, info: note } as never,
    holds,
    source: {
      async time() {
        if (store.away) throw new Error("away");
        await clock.advance(store.outMs ?? 1);
        const said = new Date(storeNow());
        await clock.advance(store.backMs ?? 1);
        return said;
      },
      told: () => Promise.resolve(store.left ?? null),
      tell: (what) => Promise.resolve(void told.push(what)),
    },
  });
  /** Reads the clock every two seconds for so long. */
  const pass = async (ms: number): Promise<void> => {
    for (let past = 0; past < ms; past += 2000) {
      await clock.advance(Math.min(2000, ms - past));
      await storeClock.refresh();
    }
  };
  return { clock, slept, log, told, storeNow, storeClock, pass };
}
const at = (ms: number): Date => new Date(ms);
const HOUR_MS = 3_600_000;
/** How far the deployment's time is from the store's, ms. */
const apart = (o: ReturnType<typeof over>): number => o.storeClock.now().getTime() - o.storeNow();

test("a span of the store's is one of ours that surely lies in it; from a slow answer it is shorter, from none it is not known", async () => {
  const o = over({ ahead: 0, outMs: 100, backMs: 20 });
  expect([o.storeClock.within(at(0), at(1)), o.storeClock.uncertainMs(), o.storeClock.known()]).toEqual([
    null,
    null,
    false,
  ]);
  expect(o.storeClock.now()).toEqual(o.clock.now());
  await o.storeClock.refresh();
  const from = o.storeNow() + 1000;
  const span = o.storeClock.within(at(from), at(from + 500));
  const trueFrom = from - OFFSET;
  expect(span?.notBeforeMs).toBeGreaterThanOrEqual(trueFrom);
  expect(span?.notBeforeMs).toBeLessThanOrEqual(trueFrom + 125);
  expect(span?.notAfterMs).toBeLessThanOrEqual(trueFrom + 500);
  expect(span?.notAfterMs).toBeGreaterThanOrEqual(trueFrom + 375);
  expect(o.storeClock.uncertainMs()).toBeCloseTo(60, -1);
  await o.clock.advance(KNOWN_FOR_MS + 1);
  expect(o.storeClock.within(at(from), at(from + 500))).toBeNull();
});

test.each([
  ["ahead by an hour", HOUR_MS],
  ["back by an hour", -HOUR_MS],
])(
  "a process's wall clock that is set %s changes no instant; no work is taken until the next reading",
  async (_how, ms) => {
    const o = over({ ahead: 0 });
    await o.storeClock.refresh();
    const clock = clockBy(o.storeClock, o.clock);
    const before = clock.now();
    o.clock.set(new Date(o.clock.now().getTime() + ms));
    expect([clock.now(), o.storeClock.known()]).toEqual([before, false]);
    await o.storeClock.refresh();
    expect(o.storeClock.known()).toBe(true);
    expect(Math.abs(apart(o))).toBeLessThan(3);
    expect(o.log).toEqual([{ event: "clock.stepped", clock: "process", stepped_ms: ms }]);
  },
);

test("a step of the wall clock widens a permit's bounds until the next reading: none is used too late or too early", async () => {
  const o = over({ ahead: 0 });
  await o.storeClock.refresh();
  const from = o.storeNow() + 1000;
  const span = () => o.storeClock.within(at(from), at(from + 500));
  const before = span();
  o.clock.set(new Date(o.clock.now().getTime() + HOUR_MS));
  expect(span()?.notAfterMs).toBeLessThan((before?.notAfterMs ?? 0) - HOUR_MS + 1000);
  expect(span()?.notBeforeMs).toBe(before?.notBeforeMs);
  await o.storeClock.refresh();
  expect(Math.abs((span()?.notAfterMs ?? 0) - (before?.notAfterMs ?? 0))).toBeLessThan(5);
});

test.each([
  ["ahead by an hour", HOUR_MS],
  ["back by an hour", -HOUR_MS],
])("a store whose clock is set %s and right again later moves no instant", async (_how, ms) => {
  const store = { ahead: 0 };
  const o = over(store);
  await o.pass(10_000);
  store.ahead = ms;
  await o.storeClock.refresh();
  expect([o.storeClock.known(), o.storeClock.within(at(0), at(1))]).toEqual([false, null]);
  await o.storeClock.refresh();
  expect(o.storeClock.known()).toBe(true);
  expect(Math.abs(apart(o) + ms)).toBeLessThan(5);
  await o.pass(60_000);
  expect(Math.abs(apart(o) + ms)).toBeLessThan(5);
  expect(o.storeClock.database()?.ahead_ms).toBeCloseTo(ms, -1);
  expect(o.told.at(-1)?.ahead_ms).toBeCloseTo(ms, -1);
  store.ahead = 0;
  await o.storeClock.refresh();
  await o.storeClock.refresh();
  expect([o.storeClock.known(), o.storeClock.held()]).toEqual([true, null]);
  expect(Math.abs(apart(o))).toBeLessThan(5);
  expect(o.log.map(({ event, clock }) => [event, clock])).toEqual([
    ["clock.stepped", "database"],
    ["clock.right", "database"],
  ]);
});

test("a step ahead that lasts for ten minutes is followed; one back never is", async () => {
  const store = { ahead: 0 };
  const o = over(store);
  await o.pass(4000);
  store.ahead = HOUR_MS;
  await o.pass(FOLLOW_AFTER_MS - 10_000);
  expect(Math.abs(apart(o) + HOUR_MS)).toBeLessThan(5);
  await o.pass(20_000);
  expect(Math.abs(apart(o))).toBeLessThan(5);
  expect(o.storeClock.held()).toBeNull();
  store.ahead = 0;
  await o.pass(FOLLOW_AFTER_MS * 3);
  expect(Math.abs(apart(o) - HOUR_MS)).toBeLessThan(5);
  expect(o.log.map(({ event }) => event)).toEqual(["clock.stepped", "clock.followed", "clock.stepped"]);
});

test("a machine that slept goes on by the store's time at once", async () => {
  const o = over({ ahead: 0 });
  await o.pass(4000);
  o.slept.ms = HOUR_MS;
  o.clock.set(new Date(o.clock.now().getTime() + HOUR_MS));
  expect(o.storeClock.known()).toBe(false);
  await o.storeClock.refresh();
  expect(o.storeClock.known()).toBe(true);
  expect(Math.abs(apart(o))).toBeLessThan(5);
  expect(o.log.map(({ event }) => event)).toEqual(["clock.followed"]);
});

test("a process that starts while others hold a step off begins with their time", async () => {
  const told_at = at(OFFSET + HOUR_MS - 1000);
  const o = over({ ahead: HOUR_MS, left: { ahead_ms: HOUR_MS, for_ms: 30_000, told_at, known_ms: 1 } });
  await o.storeClock.refresh();
  expect(Math.abs(apart(o) + HOUR_MS)).toBeLessThan(5);
  await o.pass(FOLLOW_AFTER_MS - 40_000);
  expect(Math.abs(apart(o) + HOUR_MS)).toBeLessThan(5);
  await o.pass(20_000);
  expect(Math.abs(apart(o))).toBeLessThan(5);
});

test("a process that starts while the store's clock is not where others told waits for them to notice; nobody does where none lives", async () => {
  const store = { ahead: HOUR_MS, left: { ahead_ms: 0, for_ms: 0, told_at: at(OFFSET), known_ms: 1 } as ToldTime };
  const [o, alone] = [over(store), over({ ...store })];
  await o.pass(2000);
  expect(o.storeClock.known()).toBe(false);
  store.left = { ahead_ms: HOUR_MS, for_ms: 100, told_at: at(OFFSET + HOUR_MS), known_ms: 1 };
  await o.storeClock.refresh();
  expect(o.storeClock.known()).toBe(true);
  expect(Math.abs(apart(o) + HOUR_MS)).toBeLessThan(5);
  await alone.pass(8000);
  expect(alone.storeClock.known()).toBe(true);
  expect(Math.abs(apart(alone))).toBeLessThan(5);
});

test("a process that began while the store's clock was set takes the time of one that has known it for longer, and tells nobody of its own", async () => {
  const store: Parameters<typeof over>[0] = { ahead: HOUR_MS };
  const o = over(store);
  await o.pass(4000);
  expect(Math.abs(apart(o))).toBeLessThan(5);
  store.ahead = 0;
  store.left = { ahead_ms: 0, for_ms: 0, told_at: at(o.storeNow() + 4000), known_ms: 60_000 };
  const tales = o.told.length;
  await o.pass(6000);
  expect([Math.abs(apart(o)) < 5, o.storeClock.held(), o.log.map(({ event }) => event)]).toEqual([
    true,
    null,
    ["clock.stepped", "clock.followed"],
  ]);
  expect(o.told.slice(tales).filter(({ ahead_ms }) => ahead_ms !== 0)).toEqual([]);
});

test("a process keeps its time where one that has known it for less says otherwise, and says so", async () => {
  const store: Parameters<typeof over>[0] = { ahead: 0 };
  const o = over(store);
  await o.pass(60_000);
  store.left = { ahead_ms: -HOUR_MS, for_ms: 1000, told_at: at(o.storeNow() + 9000), known_ms: 5000 };
  const tales = o.told.length;
  await o.pass(12_000);
  expect(Math.abs(apart(o))).toBeLessThan(5);
  expect([...new Set(o.told.slice(tales).map(({ ahead_ms }) => ahead_ms))]).toEqual([0]);
});

test("a slow answer, or a drift within bounds, is no step; one answer that fits nothing is asked again", async () => {
  const store = { ahead: 0, outMs: 1, backMs: 1 };
  const o = over(store);
  await o.pass(4000);
  store.outMs = 5000;
  await o.storeClock.refresh();
  store.outMs = 1;
  store.ahead = 90_000;
  await o.storeClock.refresh();
  store.ahead = 0;
  expect(o.storeClock.known()).toBe(false);
  await o.storeClock.refresh();
  expect([o.storeClock.known(), o.log]).toEqual([true, []]);
  expect(Math.abs(apart(o))).toBeLessThan(5);
});

test("without holding, a step counts at the next reading, and work goes on", async () => {
  const store = { ahead: 0 };
  const o = over(store, { holds: false });
  await o.storeClock.refresh();
  store.ahead = HOUR_MS;
  await o.storeClock.refresh();
  expect(Math.abs(apart(o))).toBeLessThan(5);
  expect([o.storeClock.known(), o.storeClock.database()]).toEqual([true, null]);
});

test("a reading that fails leaves what is known as it is, and time goes on", async () => {
  const store = { ahead: 0, away: false };
  const o = over(store);
  await o.storeClock.refresh();
  store.away = true;
  await o.storeClock.refresh();
  expect(o.storeClock.uncertainMs()).toBeLessThan(2);
  await o.clock.advance(HOUR_MS);
  expect(Math.abs(apart(o))).toBeLessThan(5);
  expect(o.storeClock.known()).toBe(true);
});
