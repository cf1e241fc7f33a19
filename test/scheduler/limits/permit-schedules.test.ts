import * as fc from "fast-check";
import { rateWindowSchema } from "../../../services/scheduler/limits/rate-windows.model.ts";
import { rateWindows, type Acquired } from "../../../services/scheduler/limits/rate-windows.repository.ts";
import { Collection } from "../../simulation/collection/collection.ts";
import { simulatedModel } from "../../simulation/engine/simulated-model.ts";

/** Windows over a simulated collection whose clock is moved by hand. */
function windows() {
  const time = { now: 1_800_000_000_000 };
  const collection = new Collection("rate_windows", [], () => new Date(time.now));
  const model = simulatedModel(collection, rateWindowSchema as never, (operation, work) =>
    Promise.resolve().then(() => work(operation)),
  );
  return { time, rates: rateWindows(model as never, () => null) };
}

type Granted = Extract<Acquired, { granted: true }>;

/** What becomes of a permit: used at a point of its span, given back after so long, or lost with its process. */
const fate = fc.oneof(
  fc.record({ what: fc.constant("used" as const), at: fc.double({ min: 0, max: 1, noNaN: true }) }),
  fc.record({ what: fc.constant("given back" as const), after: fc.integer({ min: 0, max: 9000 }) }),
  fc.record({ what: fc.constant("lost" as const) }),
);
const asked = fc.record({
  ahead: fc.option(fc.integer({ min: 0, max: 3000 })),
  slack_ms: fc.integer({ min: 0, max: 4000 }),
  valid_ms: fc.constantFrom(0, 100, 400, 2000),
  fate,
});
const step = fc.record({
  pause: fc.integer({ min: 0, max: 2500 }),
  asks: fc.array(asked, { minLength: 1, maxLength: 6 }),
});

test("no schedule of permits taken, used, given back and lost has more than N calls leave in any window", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 3, maxLength: 25 }),
      fc.constantFrom(1, 2, 3, 5, 8),
      fc.constantFrom(1000, 4000, 20_000),
      async (steps, max, window_ms) => {
        const { time, rates } = windows();
        const limit = { max, window_ms };
        const left: number[] = [];
        const returning: { at: number; permit: Granted }[] = [];
        const pass = async (ms: number): Promise<void> => {
          const end = time.now + ms;
          for (const one of returning.filter((r) => r.at <= end).sort((a, b) => a.at - b.at)) {
            time.now = Math.max(time.now, one.at);
            returning.splice(returning.indexOf(one), 1);
            await rates.giveBack("w", { from: one.permit.at, until: one.permit.until, window_ms });
          }
          time.now = end;
        };
        for (const { pause, asks } of steps) {
          await pass(pause);
          await Promise.all(
            asks.map(async ({ ahead, slack_ms, valid_ms, fate: becomes }) => {
              const not_before = ahead === null ? null : new Date(time.now + ahead);
              const got = await rates.acquire("w", limit, { not_before, slack_ms, valid_ms });
              if (!got.granted) return;
              const [from, until] = [got.at.getTime(), got.until.getTime()];
              if (becomes.what === "used") left.push(from + becomes.at * (until - from));
              if (becomes.what === "given back") returning.push({ at: time.now + becomes.after, permit: got });
            }),
          );
        }
        left.sort((a, b) => a - b);
        const crowd = left.findIndex((at, i) => (left[i + max] ?? Infinity) - at < window_ms);
        expect(crowd).toBe(-1);
      },
    ),
    { numRuns: 400 },
  );
});

test("a permit that is given back is free again from its own instant on, no sooner; the others stay as they are", async () => {
  const { time, rates } = windows();
  const limit = { max: 2, window_ms: 60_000 };
  const take = (ahead: number) =>
    rates.acquire("w", limit, { not_before: new Date(time.now + ahead), slack_ms: 0, valid_ms: 2000 });
  const [first, second] = [await take(0), await take(5000)];
  expect(await take(10_000)).toMatchObject({ granted: false });
  if (!first.granted || !second.granted) throw new Error("two permits are free");
  await rates.giveBack("w", { from: second.at, until: second.until, window_ms: limit.window_ms });
  expect(await take(1000)).toEqual({ granted: false, next: second.at });
  expect(await take(6000)).toMatchObject({ granted: true, at: new Date(time.now + 6000) });
  expect(await take(7000)).toEqual({ granted: false, next: new Date(first.until.getTime() + 60_000) });
  // once: what is gone is gone
  await rates.giveBack("w", { from: second.at, until: second.until, window_ms: limit.window_ms });
  expect(await take(8000)).toMatchObject({ granted: false });
});

test("those who ask at the same moment share a write, and are told apart", async () => {
  const time = { now: 1_800_000_000_000 };
  let writes = 0;
  const collection = new Collection("rate_windows", [], () => new Date(time.now));
  const model = simulatedModel(collection, rateWindowSchema as never, (operation, work) => {
    if (operation.verb === "change") writes++;
    return Promise.resolve().then(() => work(operation));
  });
  const rates = rateWindows(model as never, () => null);
  const limit = { max: 7, window_ms: 60_000 };
  const take = () => rates.acquire("w", limit, { not_before: null, slack_ms: 0 });
  await take();
  writes = 0;
  const taken = await Promise.all(Array.from({ length: 9 }, take));
  expect(taken.map((t) => t.granted)).toEqual([true, true, true, true, true, true, false, false, false]);
  // one for all, and one more for those who were refused and look whether the layout was why
  expect(writes).toBeLessThanOrEqual(2);
});
