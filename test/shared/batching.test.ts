import { joining } from "../../shared/joining.ts";

const settled = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
};

test("calls of one moment make one run, answered in order", async () => {
  const runs: number[][] = [];
  const double = joining<number, number>(async (items) => {
    runs.push(items);
    return items.map((i) => i * 2);
  }, 100);
  expect(await Promise.all([1, 2, 3].map((n) => double(n)))).toEqual([2, 4, 6]);
  expect(runs).toEqual([[1, 2, 3]]);
});

test("while two runs are under way the rest gathers, no run is larger than its bound, nothing is left behind", async () => {
  const runs: { items: number[]; done: () => void }[] = [];
  const ask = joining<number, number>(
    (items) =>
      new Promise((resolve) => {
        runs.push({ items, done: () => resolve(items) });
      }),
    4,
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
  const ask = joining<string, string>(async (items) => {
    if (n++ === 0) throw new Error("down");
    return items;
  }, 1);
  const [first, second] = await Promise.allSettled([ask("a"), ask("b")]);
  expect([first.status, second]).toEqual(["rejected", { status: "fulfilled", value: "b" }]);
});

test("an item without an answer is an error, not a silence", async () => {
  const ask = joining<string, string>(async () => [], 10);
  await expect(ask("a")).rejects.toThrow("without an answer");
});
