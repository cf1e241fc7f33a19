import { remembered } from "../../../shared/metrics/remembered.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

test("a reading is made once in its time, however often it is asked for, and again at once after one that failed", async () => {
  const clock = virtualClock();
  let reads = 0;
  const read = remembered(clock, 1000, async () => {
    if (++reads === 2) throw new Error("away");
    return reads;
  });
  expect(await Promise.all([read(), read()])).toEqual([1, 1]);
  await clock.advance(999);
  expect(await read()).toBe(1);
  await clock.advance(1);
  await expect(read()).rejects.toThrow("away");
  expect([await read(), await read()]).toEqual([3, 3]);
});
