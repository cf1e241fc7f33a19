import * as fc from "fast-check";
import { batched, chunks, chunksApart, newestFitting, smallestFitting } from "../../shared/batching.ts";

const settled = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
};

test("calls of one moment make one run, answered in order", async () => {
  const runs: number[][] = [];
  const double = batched<number, number>(
    async (items) => {
      runs.push(items);
      return items.map((i) => i * 2);
    },
    { maxItems: 100 },
  );
  expect(await Promise.all([1, 2, 3].map((n) => double(n)))).toEqual([2, 4, 6]);
  expect(runs).toEqual([[1, 2, 3]]);
});

test("while two runs are under way the rest gathers, no run is larger than its bound, nothing is left behind", async () => {
  const runs: { items: number[]; done: () => void }[] = [];
  const ask = batched<number, number>(
    (items) =>
      new Promise((resolve) => {
        runs.push({ items, done: () => resolve(items) });
      }),
    { maxItems: 4 },
  );
  const answers = Promise.all(Array.from({ length: 11 }, (_, i) => ask(i)));
  await settled();
  expect(runs.map((r) => r.items.length)).toEqual([4, 4]);
  runs[0]?.done();
  await settled();
  expect(runs.map((r) => r.items.length)).toEqual([4, 4, 3]);
  for (const r of runs) r.done();
  expect(await answers).toEqual(Array.from({ length: 11 }, (_, i) => i));
});

test("a run that fails fails its own calls only", async () => {
  let n = 0;
  const ask = batched<string, string>(
    async (items) => {
      if (n++ === 0) throw new Error("down");
      return items;
    },
    { maxItems: 1 },
  );
  const [first, second] = await Promise.allSettled([ask("a"), ask("b")]);
  expect([first.status, second]).toEqual(["rejected", { status: "fulfilled", value: "b" }]);
});

test("a batch larger than a message goes as several runs, answered in order; null is an answer", async () => {
  const runs: number[][] = [];
  const ask = batched<number, number | null>(
    async (items) => {
      runs.push(items);
      return items.map((i) => (i === 2 ? null : i));
    },
    { maxItems: 100, bytesOf: () => 250_000 },
  );
  expect(await Promise.all([1, 2, 3].map((n) => ask(n)))).toEqual([1, null, 3]);
  expect(runs).toEqual([[1], [2], [3]]);
});

test("a small item waits for no large one of its moment", async () => {
  const runs: { sizes: number[]; done: () => void }[] = [];
  const ask = batched<number, number>(
    (sizes) =>
      new Promise((resolve) => {
        runs.push({ sizes, done: () => resolve(sizes) });
      }),
    { maxItems: 100, bytesOf: (size) => size },
  );
  const large = [250_000, 250_001].map((size) => ask(size));
  const small = Promise.all([100, 16_384].map((size) => ask(size)));
  await settled();
  expect(runs.map((r) => r.sizes)).toEqual([[250_000], [250_001], [100, 16_384]]);
  runs[2]?.done();
  expect(await small).toEqual([100, 16_384]);
  for (const r of runs) r.done();
  expect(await Promise.all(large)).toEqual([250_000, 250_001]);
});

test("chunks apart: everything once, the small first, and none with a large one in its chunk", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(40_000)), fc.integer({ min: 1, max: 20 }), (sizes, maxItems) => {
      const parts = chunksApart(sizes, { maxItems, bytesOf: (n) => n });
      const isLarge = (n: number): boolean => n > 16_384;
      expect(parts.flat()).toEqual([...sizes.filter((n) => !isLarge(n)), ...sizes.filter(isLarge)]);
      for (const part of parts) {
        expect(part.length).toBeLessThanOrEqual(maxItems);
        expect(new Set(part.map(isLarge)).size).toBe(1);
      }
    }),
  );
});

test("an item without an answer is an error, not a silence", async () => {
  const ask = batched<string, string>(async () => [], { maxItems: 10 });
  await expect(ask("a")).rejects.toThrow("without an answer");
});

test("chunks: everything once, in order, none longer than asked, none larger than allowed unless one item is, and no more of them than greed needs", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(500)),
      fc.integer({ min: 1, max: 1000 }),
      fc.integer({ min: 1, max: 20 }),
      (sizes, maxBytes, maxItems) => {
        const parts = chunks(sizes, { maxItems, maxBytes, bytesOf: (n) => n });
        const sum = (part: readonly number[]): number => part.reduce((a, b) => a + b, 0);
        expect(parts.flat()).toEqual(sizes);
        for (const [i, part] of parts.entries()) {
          expect(part.length > 0 && part.length <= maxItems && (part.length === 1 || sum(part) <= maxBytes)).toBe(true);
          const next = parts[i + 1]?.[0];
          if (next !== undefined) expect(part.length === maxItems || sum(part) + next > maxBytes).toBe(true);
        }
      },
    ),
  );
});

test("newest items and smallest fields are kept, as many as fit as JSON, whatever they hold", () => {
  const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { maxLength: 20 }), fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(300), (items, fields, most) => {
      const newest = newestFitting(items, most);
      expect(newest).toEqual(items.slice(items.length - newest.length));
      if (newest.length > 0) expect(bytes(newest)).toBeLessThanOrEqual(most);
      if (newest.length < items.length) expect(bytes(items.slice(-newest.length - 1)) + 1).toBeGreaterThan(most);
      const { kept, left } = smallestFitting(fields, most);
      expect(new Set([...Object.keys(kept), ...left])).toEqual(new Set(Object.keys(fields)));
      if (Object.keys(kept).length > 0) expect(bytes(kept)).toBeLessThanOrEqual(most);
      const sizes = (names: string[]): number[] => names.map((name) => bytes(name) + bytes(fields[name]));
      if (left.length > 0) expect(Math.max(0, ...sizes(Object.keys(kept)))).toBeLessThanOrEqual(Math.min(...sizes(left)));
    }),
  );
}); // prettier-ignore
