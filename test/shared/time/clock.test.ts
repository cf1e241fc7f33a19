import { jest } from "@jest/globals";
import { systemClock } from "../../../shared/time/clock.ts";

describe("the system clock", () => {
  test("a wait ends when its time has come", async () => {
    const began = systemClock.monotonicMs();
    await systemClock.wait(5);
    expect(systemClock.monotonicMs() - began).toBeGreaterThanOrEqual(4);
  });

  test("a wait for what is past ends at once, and Node has nothing to warn of", async () => {
    const timers = jest.spyOn(globalThis, "setTimeout");
    try {
      const waiting = systemClock.wait(-20.5);
      expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([0]);
      await waiting;
    } finally {
      timers.mockRestore();
    }
  });

  test("an aborted wait ends at once, whatever the reason, and never rejects", async () => {
    for (const reason of [undefined, null, new Error("gone")]) {
      const cut = new AbortController();
      const waiting = systemClock.wait(60_000, cut.signal);
      cut.abort(reason);
      await expect(waiting).resolves.toBeUndefined();
      await expect(systemClock.wait(60_000, cut.signal)).resolves.toBeUndefined();
    }
  });

  test("an aborted wait leaves no timer", async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    const cut = new AbortController();
    const waiting = systemClock.wait(60_000, cut.signal);
    expect(timers()).toBe(before + 1);
    cut.abort();
    await waiting;
    expect(timers()).toBe(before);
  });
});
