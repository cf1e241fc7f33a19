import type { Clock } from "../../../shared/time/clock.ts";
import { standstillWatch } from "../../../services/conversation/session/standstill-watch.ts";

/** A clock whose timers fire when the test says so. */
function handClock() {
  let now = 0;
  const due: { at: number; fire: () => void }[] = [];
  const clock = {
    monotonicMs: () => now,
    wait: (ms: number, signal?: AbortSignal) =>
      new Promise<boolean>((resolve) => {
        due.push({ at: now + ms, fire: () => resolve(signal?.aborted !== true) });
      }),
  } as unknown as Clock;
  /** Time passes; `fires` false: while the process stands still. */
  const pass = async (ms: number, fires = true): Promise<void> => {
    for (const until = now + ms; now < until;) {
      now = fires ? Math.min(until, now + 100) : until;
      for (const timer of fires ? due.splice(0).toSorted((a, b) => a.at - b.at) : [])
        if (timer.at <= now) timer.fire();
        else due.push(timer);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { clock, pass };
}

test("a process that runs never stood still; one that was stopped did, from its first instant on and for a while", async () => {
  const { clock, pass } = handClock();
  const watch = standstillWatch(clock);
  const end = watch.begin();
  await pass(10_000);
  expect(watch.stoodStill()).toBe(false);
  await pass(12_000, false);
  expect(watch.stoodStill()).toBe(true);
  await pass(1000);
  expect(watch.stoodStill()).toBe(true);
  await pass(4000);
  expect(watch.stoodStill()).toBe(false);
  end();
});

test("while nobody watches, nothing is known and nothing beats", async () => {
  const { clock, pass } = handClock();
  const watch = standstillWatch(clock);
  watch.begin()();
  await pass(60_000, false);
  expect(watch.stoodStill()).toBe(false);
});
