import * as fc from "fast-check";
import { createAgenda } from "../../../services/scheduler/memory/queue-schedule.ts";
import { createPace } from "../../../services/scheduler/fairness/aimd-budget.ts";
import {
  EPOCH,
  laidOutFor,
  layoutOf,
  roomAt,
  widened,
  type RingState,
} from "../../../services/scheduler/limits/sliding-window.ts";
import { remembered } from "../../../services/scheduler/memory/short-lived-cache.ts";
import { createSpokenFor } from "../../../services/scheduler/limits/in-flight-reservations.ts";
import { startLoop } from "../../../shared/loop.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

describe("the agenda", () => {
  test("a queue is due at the earliest instant heard of; taken, it is off until something is heard or learned", () => {
    const a = createAgenda();
    a.hear("q", 500);
    a.hear("q", 300);
    a.hear("q", 400);
    expect([a.next(), a.take(299), a.take(300), a.take(1000), a.next()]).toEqual([300, [], ["q"], [], null]);
  });
  test("what is heard while it is looked at is not lost, whatever the look has shown", () => {
    const a = createAgenda();
    a.hear("q", 0);
    expect(a.take(0)).toEqual(["q"]);
    a.hear("q", 10);
    a.learn("q", null);
    a.learn("q", 2000);
    expect(a.take(10)).toEqual(["q"]);
  });
  test("put aside, nothing wakes it before", () => {
    const a = createAgenda();
    a.hear("q", 0);
    a.putAside("q", 5000);
    a.hear("q", 10);
    expect([a.take(4999), a.take(5000)]).toEqual([[], ["q"]]);
    a.hear("q", 10);
    expect(a.take(5000)).toEqual(["q"]);
  });
  test("waiting for a line: woken by one of its provider, else by its own time; not all at once for one line", () => {
    const a = createAgenda();
    for (let i = 0; i < 250; i++) a.awaitLine(`q${i}`, i < 200 ? "PROVIDER_ONE" : "PROVIDER_TWO", 1000);
    a.hear("q0", 5);
    expect(a.take(10)).toEqual([]);
    a.freed("PROVIDER_ONE", 20);
    const first = a.take(20);
    expect(first).toHaveLength(100);
    expect(first.every((q) => Number(q.slice(1)) < 100)).toBe(true);
    for (const q of first) a.awaitLine(q, "PROVIDER_ONE", 1020);
    a.freed("PROVIDER_ONE", 30);
    expect(a.take(30).every((q) => Number(q.slice(1)) >= 100)).toBe(true);
    expect(a.take(1020)).toHaveLength(150);
  });
});

test("the pace is halved when the dialler has no room, rests longer each time, and comes back bit by bit", () => {
  const p = createPace(100);
  p.told(100, 40, 0);
  expect([p.budget(10), p.restsUntil(10), p.budget(50)]).toEqual([0, 50, 50]);
  p.told(50, 0, 50);
  expect([p.restsUntil(60), p.budget(150)]).toEqual([150, 25]);
  for (let i = 0; i < 20; i++) p.told(25, 0, 1000);
  expect([p.budget(2000), p.restsUntil(1999)]).toEqual([1, 2000]);
  for (let i = 0; i < 5; i++) p.told(1, 1, 3000);
  expect(p.budget(3000)).toBe(51);
  for (let i = 0; i < 20; i++) p.told(1, 1, 3000);
  expect(p.budget(3000)).toBe(100);
});

test("what is spoken for counts until it was asked for, or for three seconds", () => {
  const s = createSpokenFor();
  for (let i = 0; i < 3; i++) s.add("ring", 100 * i);
  s.asked("ring");
  s.asked("other");
  expect([s.count("ring", 300), s.count("ring", 3150), s.count("ring", 3250), s.count("other", 0)]).toEqual([
    2, 1, 0, 0,
  ]);
});

test("a memory forgets by time, by name and by size", async () => {
  const clock = virtualClock();
  const m = remembered<number>(clock, 2000, 2);
  m.set("a", 1);
  m.set("b", 2);
  m.set("c", 3);
  expect([m.get("a"), m.get("b"), m.get("c")]).toEqual([undefined, 2, 3]);
  m.forget("b");
  await clock.advance(1999);
  expect([m.get("b"), m.get("c")]).toEqual([undefined, 3]);
  await clock.advance(1);
  expect(m.get("c")).toBeUndefined();
  const none = remembered<number>(clock, 0, 2);
  none.set("a", 1);
  expect(none.get("a")).toBeUndefined();
});

describe("a ring", () => {
  const grants = fc
    .array(fc.integer({ min: 0, max: 5000 }), { maxLength: 60 })
    .map((ats) => ats.sort((a, b) => a - b).map((at) => new Date(1_800_000_000_000 + at)));
  const ringOf = (ats: Date[], max: number): RingState =>
    laidOutFor(
      {
        ring: ats.length === 0 ? [EPOCH] : ats,
        group: 1,
        filled: 1,
        opened: EPOCH,
        closed_until: null,
        closed_why: null,
      },
      max,
    );
  test("its room is what the limit leaves of the grants in the window, and the next place is the first instant with room", () => {
    fc.assert(
      fc.property(
        grants,
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 100, max: 3000 }),
        fc.integer({ min: 0, max: 6000 }),
        (ats, max, window_ms, now) => {
          const limit = { max, window_ms };
          const at = new Date(1_800_000_000_000 + now);
          const state = ringOf(ats, max);
          const live = ats.filter((d) => d.getTime() + widened(limit) > at.getTime()).length;
          const { free, next } = roomAt(state, limit, at);
          expect(free).toBe(Math.max(0, max - live));
          expect(next === null).toBe(free > 0);
          if (next) {
            expect(roomAt(state, limit, next).free).toBeGreaterThan(0);
            expect(roomAt(state, limit, new Date(next.getTime() - 1)).free).toBe(0);
          }
        },
      ),
    );
  });
  test("laid out anew it never shows more room than before for the same limit", () => {
    fc.assert(
      fc.property(
        grants,
        fc.array(fc.constantFrom(1, 3, 10, 40, 1200, 5000), { minLength: 1, maxLength: 4 }),
        (ats, limits) => {
          const limit = { max: 10, window_ms: 1000 };
          const at = new Date(1_800_000_002_000);
          const state = ringOf(ats, 60);
          const turned = limits.reduce<RingState>((s, max) => laidOutFor(s, max), state);
          expect(roomAt(turned, limit, at).free).toBeLessThanOrEqual(roomAt(state, limit, at).free);
        },
      ),
    );
  });
  test("its layout never holds more than the limit, and nearly all of it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (max) => {
        const { group, entries } = layoutOf(max);
        expect(group * entries).toBeLessThanOrEqual(max);
        expect(group * entries).toBeGreaterThanOrEqual(max * 0.98);
        expect(entries).toBeLessThanOrEqual(1000);
      }),
    );
  });
});

describe("the loop", () => {
  test("a pass says when the next one is wanted; nudges bring it sooner, but passes keep their gap", async () => {
    const clock = virtualClock();
    const at: number[] = [];
    const loop = startLoop({
      name: "t",
      clock,
      intervalMs: 1000,
      minGapMs: 10,
      pass: async () => {
        at.push(clock.monotonicMs());
        return 300;
      },
      onError: () => undefined,
    });
    const go = async (ms: number): Promise<void> => {
      for (let i = 0; i < ms; i++) {
        await clock.advance(1);
        await new Promise((r) => setImmediate(r));
      }
    };
    const near = (wanted: number[]): void => {
      expect(at).toHaveLength(wanted.length);
      wanted.forEach((w, i) => expect(Math.abs((at[i] ?? 0) - w)).toBeLessThanOrEqual(2));
    };
    await go(305);
    near([0, 300]);
    loop.nudge();
    loop.nudge();
    await go(20);
    near([0, 300, 310]);
    await go(100);
    loop.nudge();
    await go(3);
    near([0, 300, 310, 427]);
    await loop.stop();
  });
});
