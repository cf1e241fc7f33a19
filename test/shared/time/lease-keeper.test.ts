import { keepLease, type LeaseKeeping } from "../../../shared/time/lease-keeper.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const LEASE_SECONDS = 30;
const THIRD_MS = 10_000;

function lease(answers: (boolean | Error)[], how: Partial<LeaseKeeping> = {}) {
  const clock = virtualClock();
  const seen: string[] = [];
  const kept = keepLease({
    clock,
    leaseSeconds: LEASE_SECONDS,
    async renew() {
      const answer = answers.shift() ?? true;
      seen.push(`renew ${clock.monotonicMs()}`);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    onLost: () => seen.push("lost"),
    onError: () => seen.push("error"),
    ...how,
  });
  return { clock, seen, kept };
}

test("a lease is renewed in thirds of its life until it is dropped", async () => {
  const { clock, seen, kept } = lease([]);
  for (let i = 0; i < 2; i++) await clock.advance(THIRD_MS);
  expect([seen, kept.endsAtMs()]).toEqual([["renew 10000", "renew 20000"], 50_000]);
  kept.drop();
  await clock.advance(THIRD_MS);
  expect([seen.length, kept.signal.aborted]).toEqual([2, true]);
});

test("a renewal that fails is asked for again and prolongs nothing", async () => {
  const { clock, seen, kept } = lease([new Error("away"), true]);
  await clock.advance(THIRD_MS);
  expect([seen, kept.endsAtMs()]).toEqual([["renew 10000", "error"], 30_000]);
  await clock.advance(THIRD_MS);
  expect(kept.endsAtMs()).toBe(50_000);
  kept.drop();
});

test("only the answer no loses the lease, once; nothing is asked afterwards", async () => {
  const { clock, seen, kept } = lease([true, false], { renewNow: true });
  await clock.advance(0);
  for (let i = 0; i < 3; i++) await clock.advance(THIRD_MS);
  expect(seen).toEqual(["renew 0", "renew 10000", "lost"]);
  expect(kept.signal.aborted).toBe(true);
});
