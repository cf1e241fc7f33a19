import { inSlices } from "../../shared/in-slices.ts";

test("answers come in the order of the items, never more than the bound run side by side", async () => {
  let running = 0;
  let most = 0;
  const answers = await inSlices([5, 1, 4, 2, 3, 0, 6], 3, async (n) => {
    most = Math.max(most, ++running);
    for (let i = 0; i < n; i++) await Promise.resolve();
    running--;
    return n * 10;
  });
  expect(answers).toEqual([50, 10, 40, 20, 30, 0, 60]);
  expect(most).toBe(3);
});

test("the first failure fails the whole, and later slices are not begun", async () => {
  const begun: number[] = [];
  await expect(
    inSlices([1, 2, 3, 4], 2, async (n) => {
      begun.push(n);
      if (n === 2) throw new Error("no");
      return n;
    }),
  ).rejects.toThrow("no");
  expect(begun).toEqual([1, 2]);
});
