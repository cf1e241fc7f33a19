import { memory } from "../../../services/config/push/bounded-cache.ts";

test("makes once, remembers, and does not remember null", async () => {
  const remembered = memory<{ n: number }>(10);
  let made = 0;
  const make = (): Promise<{ n: number }> => Promise.resolve({ n: ++made });
  const first = await remembered.get("a", make);
  expect(await remembered.get("a", make)).toBe(first);
  expect(await remembered.get("b", () => Promise.resolve(null))).toBeNull();
  expect(await remembered.get("b", make)).toEqual({ n: 2 });
});

test("never holds more than its bound, and forgets the oldest first", async () => {
  const remembered = memory<number>(20);
  for (let i = 0; i < 1000; i++) await remembered.get(`k${i}`, () => Promise.resolve(i));
  let known = 0;
  for (let i = 0; i < 1000; i++) {
    // what is no longer known is not made again, so that asking changes nothing
    if ((await remembered.get(`k${i}`, () => Promise.resolve(null))) === i) known++;
  }
  expect(known).toBeGreaterThan(15);
  expect(known).toBeLessThanOrEqual(20);
  expect(await remembered.get("k999", () => Promise.resolve(null))).toBe(999);
});
