import { keepLeadLease } from "../../../services/dialer/outbound/lead-lease.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { rootLog } from "../../../shared/process/log.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const LEASE_SECONDS = 30;
const THIRD_MS = 10_000;
const ORDER = { lead_id: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff", claim_no: 2 } as DialJob;

/** A lease that is kept; `answer` is what the leads service says, null: it is away. */
function kept() {
  const clock = virtualClock();
  const env = readEnv({ NODE_ENV: "test", LOG_LEVEL: "silent", LEASE_SECONDS: String(LEASE_SECONDS) });
  const script = { answer: true as boolean | null, renewals: 0 };
  const renewLease = () => {
    script.renewals += 1;
    return script.answer === null
      ? Promise.reject(new Error("away"))
      : Promise.resolve({ done: script.answer, ...(script.answer ? {} : { outcome: null }) });
  };
  const peers = { renewLease } as unknown as Parameters<typeof keepLeadLease>[0]["peers"];
  const lease = keepLeadLease({ clock, env, log: rootLog(env), peers }, ORDER);
  const pass = async (ms: number): Promise<number> => {
    const before = script.renewals;
    for (let left = ms; left > 0; left -= 1000) await clock.advance(1000);
    return script.renewals - before;
  };
  return { lease, script, pass };
}

test("is renewed three times within its life, for as long as the attempt waits", async () => {
  const { lease, pass } = kept();
  expect(await pass(THIRD_MS - 1000)).toBe(0);
  expect(await pass(1000)).toBe(1);
  expect(await pass(9 * THIRD_MS)).toBe(9);
  expect(lease.lost.aborted).toBe(false);
});

test("is not renewed once the attempt has let go of it", async () => {
  const { lease, pass } = kept();
  await pass(THIRD_MS);
  lease.drop();
  expect(await pass(3 * THIRD_MS)).toBe(0);
  expect(lease.lost.aborted).toBe(false);
});

test("is lost when it is another's, and not when nobody answers", async () => {
  const { lease, script, pass } = kept();
  script.answer = null;
  expect(await pass(2 * THIRD_MS)).toBeGreaterThan(1);
  expect(lease.lost.aborted).toBe(false);
  script.answer = false;
  await pass(THIRD_MS);
  expect(lease.lost.aborted).toBe(true);
  expect(await pass(3 * THIRD_MS)).toBe(0);
});

test("an attempt that hangs for 5 min has lost it: the lead's sweep looks into it", async () => {
  const { lease, pass } = kept();
  expect(await pass(300_000)).toBe(29);
  expect(lease.lost.aborted).toBe(true);
  expect(await pass(3 * THIRD_MS)).toBe(0);
});
