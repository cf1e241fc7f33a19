import { startDeadline, taskSet, within } from "../../../shared/time/deadline.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

describe("a deadline", () => {
  test("aborts when its time is over, not before, and not once it was cleared", async () => {
    const clock = virtualClock();
    const [kept, cleared] = [startDeadline(clock, 100), startDeadline(clock, 100)];
    await clock.advance(99);
    expect([kept.expired, kept.signal.aborted]).toEqual([false, false]);
    cleared.clear();
    await clock.advance(1);
    expect([kept.expired, kept.signal.aborted]).toEqual([true, true]);
    expect([cleared.expired, cleared.signal.aborted]).toEqual([false, false]);
  });

  test("aborts with another signal without being expired", () => {
    const other = new AbortController();
    const deadline = startDeadline(virtualClock(), 100, other.signal);
    other.abort();
    expect([deadline.expired, deadline.signal.aborted]).toEqual([false, true]);
    deadline.clear();
  });
});

test("within: true in time, false too late, a rejection is passed on", async () => {
  const clock = virtualClock();
  expect(await within(clock, 100, Promise.resolve("done"))).toBe(true);
  const late = within(clock, 100, new Promise(() => undefined));
  await clock.advance(100);
  expect(await late).toBe(false);
  await expect(within(clock, 100, Promise.reject(new Error("down")))).rejects.toThrow("down");
});

test("a task set is drained when every task has ended, also one that was added meanwhile and one that failed", async () => {
  const tasks = taskSet();
  const ended: string[] = [];
  const task = async (name: string): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    ended.push(name);
    if (name === "first") tasks.add(task("second"));
    if (name === "second") throw new Error("no");
  };
  tasks.add(task("first"));
  expect(tasks.size).toBe(1);
  await tasks.drain();
  expect([ended, tasks.size]).toEqual([["first", "second"], 0]);
});
