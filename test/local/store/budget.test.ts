import { Budget, MAX_COMMAND_MS, MAX_HELD_BYTES, REST, resting } from "../../../local/store/budget.ts";

const expired = expect.objectContaining({ code: 50, codeName: "MaxTimeMSExpired" });

function clocked(): { budget: Budget; pass: (ms: number) => void } {
  let now = 0;
  return { budget: new Budget({ bytes: 0 }, () => now), pass: (ms) => (now += ms) };
}

describe("a command's budget", () => {
  it("ends a command when the client's time is over", () => {
    const { budget, pass } = clocked();
    budget.limit(100);
    pass(100);
    budget.spend(1000);
    pass(1);
    expect(() => budget.spend(1000)).toThrow(expired);
    expect(() => budget.due()).toThrow(expired);
  });

  it("ends a command without maxTimeMS at the store's own cap, and says that it is one", () => {
    const { budget, pass } = clocked();
    pass(MAX_COMMAND_MS + 1);
    expect(() => budget.spend(1000)).toThrow("the embedded store caps a command at");
  });

  it("counts the time of a cursor's commands together, and not the time between them", () => {
    const { budget, pass } = clocked();
    budget.limit(100);
    pass(60);
    budget.stop();
    pass(1_000_000);
    budget.start();
    pass(40);
    budget.spend(1000);
    pass(1);
    expect(() => budget.spend(1000)).toThrow(expired);
  });

  it("bounds the steps on one document, whatever the clock says", () => {
    const { budget } = clocked();
    for (let i = 0; i < 100; i++) {
      budget.spend(900_000);
      budget.resume();
    }
    budget.spend(900_000);
    expect(() => budget.spend(200_000)).toThrow(expired);
  });

  it("bounds what a command holds, and what all of them hold together", () => {
    const all = { bytes: 0 };
    const budgets = [1, 2, 3, 4].map(() => new Budget(all));
    for (const budget of budgets.slice(0, 3)) budget.hold(MAX_HELD_BYTES);
    expect(() => budgets[0]?.hold(1)).toThrow(expect.objectContaining({ code: 292 }));
    expect(() => budgets[3]?.hold(1)).toThrow(expect.objectContaining({ code: 292 }));
    for (const budget of budgets) budget.release();
    expect(all.bytes).toBe(0);
  });

  it("rests between two items when a slice is over", () => {
    const { budget, pass } = clocked();
    const items = resting([1, 2, 3], budget);
    expect(items.next().value).toBe(1);
    pass(1000);
    expect(items.next().value).toBe(REST);
    budget.resume();
    expect([...items]).toEqual([2, 3]);
  });
});
