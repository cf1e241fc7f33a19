import { startLoop } from "../../../shared/time/loop.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

describe("the loop", () => {
  test("a pass says when the next one is wanted; nudges bring it sooner, but passes keep their gap", async () => {
    const clock = virtualClock();
    const at: number[] = [];
    const loop = startLoop({
      name: "t",
      clock,
      intervalMs: 1000,
      minGapMs: 10,
      pass: async () => {
        at.push(clock.monotonicMs());
        return 300;
      },
      onError: () => undefined,
    });
    const go = async (ms: number): Promise<void> => {
      for (let i = 0; i < ms; i++) {
        await clock.advance(1);
        await new Promise((r) => setImmediate(r));
      }
    };
    const near = (wanted: number[]): void => {
      expect(at).toHaveLength(wanted.length);
      wanted.forEach((w, i) => expect(Math.abs((at[i] ?? 0) - w)).toBeLessThanOrEqual(2));
    };
    await go(305);
    near([0, 300]);
    loop.nudge();
    loop.nudge();
    await go(20);
    near([0, 300, 310]);
    await go(100);
    loop.nudge();
    await go(3);
    near([0, 300, 310, 427]);
    await loop.stop();
  });
});
