import * as fc from "fast-check";
import {
  afterReading,
  boundsAt,
  createStoreClock,
  DRIFT,
  KNOWN_FOR_MS,
  type OffsetBounds,
} from "../../../shared/time/store-clock.ts";
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
function over(store: { ahead: number; outMs: number; backMs: number }) {
  const clock = virtualClock();
  const steps: number[] = [];
  const storeNow = (): number => OFFSET + store.ahead + clock.monotonicMs();
  const storeClock = createStoreClock({
    clock,
    read: async () => {
      await clock.advance(store.outMs);
      const said = new Date(storeNow());
      await clock.advance(store.backMs);
      return said;
    },
    onStep: (ms) => steps.push(ms),
  });
  return { clock, steps, storeNow, storeClock };
}
const at = (ms: number): Date => new Date(ms);

test("a span of the store's is one of ours that surely lies in it; from a slow answer it is shorter, from none it is not known", async () => {
  const o = over({ ahead: 0, outMs: 100, backMs: 20 });
  expect([o.storeClock.within(at(0), at(1)), o.storeClock.now(), o.storeClock.uncertainMs()]).toEqual([
    null,
    null,
    null,
  ]);
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

test("a step of the store's clock is noticed at the next reading, and counts", async () => {
  const store = { ahead: 0, outMs: 1, backMs: 1 };
  const o = over(store);
  await o.storeClock.refresh();
  store.ahead = 3_600_000;
  await o.storeClock.refresh();
  expect(o.steps).toHaveLength(1);
  expect(Math.abs((o.steps[0] ?? 0) - 3_600_000)).toBeLessThan(10);
  expect(Math.abs((o.storeClock.now()?.getTime() ?? 0) - o.storeNow())).toBeLessThan(5);
});

test("a step of the wall clock, or sleep of the machine, widens the bounds until the next reading: no permit is used too late or too early", async () => {
  const o = over({ ahead: 0, outMs: 1, backMs: 1 });
  await o.storeClock.refresh();
  const from = o.storeNow() + 1000;
  const span = () => o.storeClock.within(at(from), at(from + 500));
  const before = span();
  o.clock.set(new Date(o.clock.now().getTime() + 3_600_000));
  expect(span()?.notAfterMs).toBeLessThan((before?.notAfterMs ?? 0) - 3_599_000);
  expect(span()?.notBeforeMs).toBe(before?.notBeforeMs);
  await o.storeClock.refresh();
  expect(Math.abs((span()?.notAfterMs ?? 0) - (before?.notAfterMs ?? 0))).toBeLessThan(5);
});

test("a reading that fails leaves what is known as it is", async () => {
  const clock = virtualClock();
  let fails = false;
  const storeClock = createStoreClock({
    clock,
    read: () => (fails ? Promise.reject(new Error("away")) : Promise.resolve(at(OFFSET))),
    onStep: () => undefined,
  });
  await storeClock.refresh();
  fails = true;
  await storeClock.refresh();
  expect(storeClock.uncertainMs()).toBeLessThan(2);
});
