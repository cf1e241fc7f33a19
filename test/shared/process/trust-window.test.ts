import { createTrustWindow, type TrustWindow } from "../../../shared/process/trust-window.ts";
import { virtualClock, type VirtualClock } from "../../fixtures/virtual-clock.ts";

const LEASE_MS = 30_000;

describe("a trust window", () => {
  let clock: VirtualClock;
  let there: boolean;
  let trust: TrustWindow;
  beforeEach(() => {
    clock = virtualClock();
    there = true;
    trust = createTrustWindow(clock, LEASE_MS, async () => {
      if (!there) throw new Error("away");
    });
  });
  const probes = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i++) {
      await clock.advance(1000);
      await trust.probe();
    }
  };

  test("is not trusted at the start, and is after a whole lease in which all was there", async () => {
    await probes(30);
    expect(trust.trusted()).toBe(false);
    await probes(1);
    expect(trust.trusted()).toBe(true);
  });

  test("one moment without begins it anew", async () => {
    await probes(40);
    there = false;
    await probes(1);
    expect(trust.trusted()).toBe(false);
    there = true;
    await probes(29);
    expect(trust.trusted()).toBe(false);
    await probes(2);
    expect(trust.trusted()).toBe(true);
  });

  test("a process that itself stood still knows nothing of the time between", async () => {
    await probes(40);
    await clock.advance(6000);
    expect(trust.trusted()).toBe(false);
    await trust.probe();
    expect(trust.trusted()).toBe(false);
  });

  test("what does not answer in time is away", async () => {
    await probes(40);
    const stuck = createTrustWindow(clock, 0, () => new Promise(() => undefined));
    const probe = stuck.probe();
    await clock.advance(2000);
    await probe;
    expect(stuck.trusted()).toBe(false);
  });
});
