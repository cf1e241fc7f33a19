import { createAimdBudget } from "../../../services/scheduler/fairness/aimd-budget.ts";

test("the budget is halved when the dialler has no room, backs off longer each time, and comes back step by step", () => {
  const p = createAimdBudget(100);
  p.record(100, 40, 0);
  expect([p.available(10), p.backsOffUntil(10), p.available(50)]).toEqual([0, 50, 50]);
  p.record(50, 0, 50);
  expect([p.backsOffUntil(60), p.available(150)]).toEqual([150, 25]);
  for (let i = 0; i < 20; i++) p.record(25, 0, 1000);
  expect([p.available(2000), p.backsOffUntil(1999)]).toEqual([1, 2000]);
  for (let i = 0; i < 5; i++) p.record(1, 1, 3000);
  expect(p.available(3000)).toBe(51);
  for (let i = 0; i < 20; i++) p.record(1, 1, 3000);
  expect(p.available(3000)).toBe(100);
});
