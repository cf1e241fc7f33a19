import { cached, recencyCache, timedCache } from "../../shared/cache.ts";
import { virtualClock } from "../fixtures/virtual-clock.ts";

describe("a recency cache", () => {
  test("drops what was used longest ago", () => {
    const cache = recencyCache<number>({ max: 2 });
    cache.set("a", 1);
    cache.set("b", 2);
    expect(cache.get("a")).toBe(1);
    cache.set("c", 3);
    expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual([1, undefined, 3]);
  });

  test("is bounded by bytes where it is told how large a value is; what is larger than all of them is not kept", () => {
    const cache = recencyCache<string>({ max: 100, bytes: { max: 10, of: (text) => text.length } });
    cache.set("a", "12345");
    cache.set("b", "12345");
    cache.set("c", "1");
    cache.set("huge", "12345678901");
    expect(["a", "b", "c", "huge"].map((key) => cache.get(key))).toEqual([undefined, "12345", "1", undefined]);
  });

  test("forgets after its time on the clock it was given", async () => {
    const clock = virtualClock();
    const cache = recencyCache<number>({ max: 10, ttl: { ms: 2000, clock } });
    await clock.advance(1);
    cache.set("a", 1);
    await clock.advance(2000);
    expect(cache.get("a")).toBe(1);
    await clock.advance(1);
    expect(cache.get("a")).toBeUndefined();
  });

  test("forgets one key, or all", () => {
    const cache = recencyCache<number>({ max: 10 });
    for (const [i, key] of ["a", "b", "c"].entries()) cache.set(key, i);
    cache.delete("a");
    expect([cache.get("a"), cache.get("b")]).toEqual([undefined, 1]);
    cache.clear();
    expect(cache.get("c")).toBeUndefined();
  });
});

describe("a timed cache", () => {
  test("never holds more than its bound: the oldest tenth goes", () => {
    const cache = timedCache<number>({ ttlSeconds: 60, max: 10 });
    for (let i = 0; i < 11; i++) cache.set(`k${i}`, i);
    expect([cache.get("k0"), cache.get("k1"), cache.get("k10")]).toEqual([undefined, 1, 10]);
  });

  test("a key that is known is replaced without dropping another", () => {
    const cache = timedCache<number>({ ttlSeconds: 60, max: 2 });
    cache.set("a", 1);
    cache.set("b", 2);
    cache.set("b", 3);
    expect([cache.get("a"), cache.get("b")]).toEqual([1, 3]);
  });
});

test("cached: made once, null is passed on and asked for again", async () => {
  const cache = recencyCache<string>({ max: 10 });
  const made: string[] = [];
  const make = (answer: string | null) => async (): Promise<string | null> => {
    made.push(String(answer));
    return answer;
  };
  expect(await cached(cache, "a", make(null))).toBeNull();
  expect(await cached(cache, "a", make("x"))).toBe("x");
  expect(await cached(cache, "a", make("y"))).toBe("x");
  expect(made).toEqual(["null", "x"]);
});
