import { array, assert, constantFrom, property, record } from "fast-check";
import {
  afterBegin,
  ANSWERED_LATELY_MS,
  FAILURES_TO_PAUSE,
  FIRST_PAUSE_MS,
  healthAfter,
  isDown,
  isHostFailure,
  LONGEST_ASKED_PAUSE_MS,
  LONGEST_PAUSE_MS,
  PROBES_AT_ONCE,
  roomFor,
  type HostHealth,
} from "../../../services/webhook/rules/host-health.ts";
import {
  HostSlots,
  MAX_IN_FLIGHT,
  MAX_PER_RECEIVER,
  MAX_UNPROVEN,
  type HostSlot,
} from "../../../services/webhook/hosts/host-slots.ts";
import type { TryResult } from "../../../services/webhook/rules/delivery-verdict.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const ok: TryResult = { status: 204, retry_after_seconds: null };
const fault: TryResult = { status: 500, retry_after_seconds: null };
const silence: TryResult = { status: null, error: "no answer within 15 s", refused: false };
const refusal: TryResult = { status: null, error: "the address is not allowed", refused: true };
/** The health after these results, one after the other, a millisecond apart. */
const afterAll = (results: readonly TryResult[], from: HostHealth | null = null, startMs = 0): HostHealth | null =>
  results.reduce<HostHealth | null>((h, r, i) => healthAfter(h, r, startMs + i, 0.5), from);
const many = <T>(n: number, of: T): T[] => Array.from({ length: n }, () => of);

describe("a host's health", () => {
  test.each<[string, TryResult, boolean]>([
    ["no answer", silence, true],
    ["a refused address", refusal, false],
    ["200", { status: 200, retry_after_seconds: null }, false],
    ["301", { status: 301, retry_after_seconds: null }, false],
    ["404", { status: 404, retry_after_seconds: null }, false],
    ["410", { status: 410, retry_after_seconds: null }, false],
    ["408", { status: 408, retry_after_seconds: null }, true],
    ["429", { status: 429, retry_after_seconds: null }, true],
    ["500", fault, true],
    ["503", { status: 503, retry_after_seconds: 1 }, true],
  ])("%s counts against it or not", (_, result, expected) => {
    expect(isHostFailure(result)).toBe(expected);
  });

  test("five failures in a row begin a pause, four do not, and one good answer forgets them", () => {
    expect(afterAll(many(FAILURES_TO_PAUSE - 1, fault))).toEqual({ failures: 4, pauses: 0, paused_until: null });
    expect(afterAll([...many(4, fault), ok, ...many(4, silence)])).toEqual({
      failures: 4,
      pauses: 0,
      paused_until: null,
    });
    expect(afterAll(many(FAILURES_TO_PAUSE, silence))).toEqual({
      failures: 5,
      pauses: 1,
      paused_until: 4 + FIRST_PAUSE_MS,
    });
  });
  test("failures of requests that were under way when the pause began change nothing; a success then ends it", () => {
    const paused = afterAll(many(5, fault));
    expect(afterAll(many(5, silence), paused, 10)).toEqual(paused);
    expect(healthAfter(paused, ok, 10, 0.5)).toBeNull();
    expect(healthAfter(paused, refusal, 10, 0.5)).toBe(paused);
  });
  test("every probe begins a pause twice as long, up to the longest, whether it fails or is never answered", () => {
    let health = afterAll(many(5, fault));
    const pauses: number[] = [];
    for (let i = 0; i < 5; i++) {
      const at = health?.paused_until ?? 0;
      const begun = afterBegin(health, at, 0.5);
      pauses.push((begun?.paused_until ?? 0) - at);
      health = i % 2 === 0 ? healthAfter(begun, fault, at + 1, 0.5) : begun;
      expect(health).toEqual(begun);
    }
    expect(pauses).toEqual([4000, LONGEST_PAUSE_MS, LONGEST_PAUSE_MS, LONGEST_PAUSE_MS, LONGEST_PAUSE_MS]);
    expect(afterBegin(health, (health?.paused_until ?? 0) - 1, 0.5)).toBe(health);
    expect(afterBegin(null, 0, 0.5)).toBeNull();
  });
  test("a Retry-After makes the pause longer, also that of a probe, up to five minutes", () => {
    const asking = (seconds: number): TryResult => ({ status: 429, retry_after_seconds: seconds });
    const asked = (seconds: number): number =>
      healthAfter(afterAll(many(4, fault)), asking(seconds), 0, 0.5)?.paused_until ?? 0;
    expect([asked(1), asked(60), asked(999_999)]).toEqual([FIRST_PAUSE_MS, 60_000, LONGEST_ASKED_PAUSE_MS]);
    const paused: HostHealth = { failures: 5, pauses: 2, paused_until: 4000 };
    expect(healthAfter(paused, asking(60), 10, 0.5)).toEqual({ ...paused, paused_until: 60_010 });
    expect(healthAfter(paused, asking(1), 10, 0.5)).toBe(paused);
  });
  test("none may be asked in a pause, one more after it, though probes before it hang, all when it is well", () => {
    const paused: HostHealth = { failures: 5, pauses: 1, paused_until: 1000 };
    expect([
      roomFor(null, 3, 10, 0),
      roomFor({ failures: 4, pauses: 0, paused_until: null }, 0, 10, 0),
      roomFor(paused, 0, 10, 999),
      roomFor(paused, 0, 10, 1000),
      roomFor(paused, PROBES_AT_ONCE - 1, 10, 1000),
      roomFor(paused, PROBES_AT_ONCE, 10, 1000),
    ]).toEqual([7, 10, 0, 1, 1, 0]);
  });
  test("it is down from its first failure on; one that answered well from its second in a row, and one that does lately is not, until it is paused", () => {
    const [once, twice, paused] = [1, 2, 5].map((n) => afterAll(many(n, fault)) ?? null);
    expect([once, twice, paused].map((h) => isDown(h ?? null, null, 10))).toEqual([true, true, true]);
    expect([once, twice].map((h) => isDown(h ?? null, 0, ANSWERED_LATELY_MS + 1))).toEqual([false, true]);
    expect([twice, paused].map((h) => isDown(h ?? null, 5, 10))).toEqual([false, true]);
    expect(isDown(null, null, 10)).toBe(false);
  });
});

/** A receiver; without a tenant one that has this host for itself. */
const of = (host: string, merchant_id = `tenant of ${host}`) => ({ host, reseller_id: "r", merchant_id });

describe("the book of receivers", () => {
  const book = () => {
    const clock = virtualClock();
    return { clock, hosts: new HostSlots(clock, () => 0.5) };
  };
  const fail = (places: readonly (HostSlot | null)[]): void => {
    for (const p of places) {
      p?.answered(silence);
      p?.release();
    }
  };

  const known = (h: HostSlots, host: string): void => {
    const place = h.acquire(of(host));
    place?.answered(ok);
    place?.release();
  };
  const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `h${i}`);
  const takenOf = (h: HostSlots, hostNames: readonly string[]): HostSlot[] =>
    hostNames
      .flatMap((host) => many(12, host).map((name) => h.acquire(of(name))))
      .filter((p): p is HostSlot => p !== null);

  test("gives ten places to a host and two hundred in all", () => {
    const { hosts: h } = book();
    for (const name of names(30)) known(h, name);
    expect(takenOf(h, ["h0"])).toHaveLength(MAX_PER_RECEIVER);
    expect(takenOf(h, names(30))).toHaveLength(MAX_IN_FLIGHT - MAX_PER_RECEIVER);
  });
  test("keeps fifty of them from hosts that have not answered yet, or not well: those that do go on", () => {
    const { hosts: h } = book();
    known(h, "well");
    known(h, "ill");
    fail([h.acquire(of("ill"))]);
    const hanging = takenOf(h, names(40));
    expect(hanging).toHaveLength(MAX_UNPROVEN);
    expect([h.acquire(of("ill")), takenOf(h, ["well"]).length]).toEqual([null, MAX_PER_RECEIVER]);
    hanging[0]?.release();
    expect(h.acquire(of("ill"))).not.toBeNull();
  });
  test("an answer frees the host's place, and what is written down afterwards the place among all", () => {
    const { hosts: h } = book();
    for (const name of names(20)) known(h, name);
    const first = names(20).flatMap((name) => many(10, 0).map(() => h.acquire(of(name))));
    first[0]?.answered(ok);
    expect(h.acquire(of("h0"))).toBeNull();
    first[0]?.release();
    expect(h.acquire(of("h0"))).not.toBeNull();
  });
  test("a host that has deliveries due gives no place to what comes later, and is read once it has room", () => {
    const { hosts: h } = book();
    h.enqueue(of("a"));
    expect([h.acquire(of("a")), h.anyNext()]).toEqual([null, true]);
    const [next] = h.next(20);
    expect([next?.receiver.host, next?.slots.length, h.anyNext()]).toEqual(["a", MAX_PER_RECEIVER, false]);
    h.enqueue(of("a"));
    expect([h.anyNext(), h.next(20)]).toEqual([false, []]);
    next?.slots[0]?.release();
    expect(h.next(20).map((n) => [n.receiver.host, n.slots.length])).toEqual([["a", 1]]);
  });
  test("a paused host is left alone, then asked once at a time, and is well again after a success", async () => {
    const { hosts: h, clock } = book();
    fail(many(5, 0).map(() => h.acquire(of("a"))));
    expect([h.acquire(of("a")), h.pausedUntil(of("a"))]).toEqual([
      null,
      new Date(clock.now().getTime() + FIRST_PAUSE_MS),
    ]);
    h.enqueue(of("a"));
    expect(h.anyNext()).toBe(false);
    await clock.advance(FIRST_PAUSE_MS);
    const [probe] = h.next(20);
    // the next probe may begin then, should this one not be answered
    expect([probe?.slots.length, h.pausedUntil(of("a"))]).toEqual([
      1,
      new Date(clock.now().getTime() + 2 * FIRST_PAUSE_MS),
    ]);
    h.enqueue(of("a"));
    expect(h.next(20)).toEqual([]);
    expect(probe?.slots[0]?.answered(ok)).toEqual({ pause: { ended: true }, began_down: true, answered_since: false });
    expect(h.recovered()).toEqual([of("a")]);
    h.released(of("a"));
    expect(h.recovered()).toEqual([]);
    expect(h.next(20).map((n) => n.slots.length)).toEqual([MAX_PER_RECEIVER]);
  });
  test("a request knows whether its receiver answered another one well while it was under way", async () => {
    const { hosts: h, clock } = book();
    const slow = h.acquire(of("a"));
    await clock.advance(10);
    expect(h.acquire(of("a"))?.answered(ok)).toEqual({ pause: null, began_down: false, answered_since: false });
    expect(slow?.answered(silence)).toEqual({ pause: null, began_down: false, answered_since: true });
    expect(h.recovered()).toEqual([]);
  });
  test("a probe that was not made gives the place back", async () => {
    const { hosts: h, clock } = book();
    fail(many(5, 0).map(() => h.acquire(of("a"))));
    await clock.advance(FIRST_PAUSE_MS);
    h.acquire(of("a"))?.release();
    expect(h.acquire(of("a"))).not.toBeNull();
  });
  test("a probe that hangs does not keep the next one waiting, and the host is never left alone for ten seconds", async () => {
    const { hosts: h, clock } = book();
    fail(many(5, 0).map(() => h.acquire(of("a"))));
    const asked: number[] = [];
    const hanging: { since: number; slot: HostSlot }[] = [];
    for (let ms = 0; ms < 120_000; ms += 100) {
      await clock.advance(100);
      for (const one of hanging.filter((x) => ms - x.since >= 15_000)) {
        hanging.splice(hanging.indexOf(one), 1);
        fail([one.slot]);
      }
      h.enqueue(of("a"));
      for (const { slots } of h.next(20))
        for (const slot of slots) {
          asked.push(ms);
          hanging.push({ since: ms, slot });
        }
      expect(hanging.length).toBeLessThanOrEqual(PROBES_AT_ONCE);
    }
    const gaps = asked.slice(1).map((at, i) => at - (asked[i] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(10_000);
    expect(Math.min(...gaps.slice(2))).toBeGreaterThanOrEqual(LONGEST_PAUSE_MS);
  });
  test("somebody who believes that it is well has it asked at once", () => {
    const { hosts: h } = book();
    fail(many(5, 0).map(() => h.acquire(of("a"))));
    h.probe(of("a"));
    expect(h.next(20).map((n) => [n.receiver.host, n.slots.length])).toEqual([["a", 1]]);
  });
  test("whatever happens, the bounds hold and every place comes back", () => {
    const step = record({
      host: constantFrom("a", "b", "c"),
      what: constantFrom("place", "wait", "next", "good", "bad", "drop", "time"),
    });
    assert(
      property(array(step, { maxLength: 300 }), (steps) => {
        const { hosts: h, clock } = book();
        const held: { host: string; place: HostSlot }[] = [];
        const end = (host: string, run: (p: HostSlot) => void): void => {
          const at = held.findIndex((x) => x.host === host);
          const [one] = at < 0 ? [] : held.splice(at, 1);
          if (one) run(one.place);
        };
        for (const { host, what } of steps) {
          if (what === "place") {
            const place = h.acquire(of(host));
            if (place) held.push({ host, place });
          }
          if (what === "wait") h.enqueue(of(host));
          if (what === "next")
            for (const n of h.next(2)) held.push(...n.slots.map((place) => ({ host: n.receiver.host, place })));
          if (what === "good")
            end(host, (p) => {
              p.answered(ok);
              p.release();
            });
          if (what === "bad")
            end(host, (p) => {
              p.answered(silence);
              p.release();
            });
          if (what === "drop")
            end(host, (p) => {
              p.release();
              p.release();
            });
          if (what === "time") void clock.advance(FIRST_PAUSE_MS);
          for (const name of ["a", "b", "c"])
            expect(held.filter((x) => x.host === name).length).toBeLessThanOrEqual(MAX_PER_RECEIVER);
        }
        for (const { place } of held) {
          place.answered(ok);
          place.release();
        }
        for (const name of ["a", "b", "c"]) {
          h.enqueue(of(name));
          void clock.advance(LONGEST_PAUSE_MS * 2);
        }
        expect(h.next(3).reduce((n, x) => n + x.slots.length, 0)).toBeGreaterThanOrEqual(3);
      }),
      { numRuns: 200 },
    );
  });
});
