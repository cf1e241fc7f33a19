import { readEnv } from "../../../shared/process/env.ts";
import type { QueueInputs } from "../../../services/scheduler/admission-inputs.ts";
import { admitQueues } from "../../../services/scheduler/stages/admit-queues.ts";
import { orderOf } from "../../../services/scheduler/stages/hand-over.ts";
import type { WonLead } from "../../../services/scheduler/stages/claim.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { configuration, plan } from "../fixtures/gate-inputs.ts";

const HOUR_MS = 3_600_000;
/** Calls from 09:00 to 18:00 UTC. */
const inputs = {
  queue: { queue: "q", reseller_id: "r", merchant_id: "m" },
  plan: plan(),
  pauses: { deployment: null, merchant: null },
} as unknown as QueueInputs;

/** Whether the queue is open at this time while the database's clock is so far ahead of it; null: no step is held off. */
async function isOpenAt(time: string, ahead_ms: number | null): Promise<boolean> {
  const { ok } = await admitQueues(
    { queues: [], full: false },
    {
      clock: virtualClock(new Date(`2026-11-21T${time}:00.000Z`)),
      env: readEnv({ NODE_ENV: "test" }),
      inputs: {
        ofQueues: () => Promise.resolve([inputs]),
        limitsOf: () => Promise.resolve([{ rate: null, carrier: null }]),
      },
      slotRefusals: { get: () => undefined },
      watch: { judged: () => undefined },
      storeClock: { held: () => (ahead_ms === null ? null : { ahead_ms, for_ms: 1000 }) } as never,
    },
  );
  return ok.length === 1;
}

test.each([
  ["in the middle of the day, whatever was set", "12:00", HOUR_MS, true],
  ["an hour before the end, the database an hour ahead", "17:30", HOUR_MS, false],
  ["in the first hour, the database an hour behind", "09:30", -HOUR_MS, false],
  ["in the first hour, the database an hour ahead", "09:30", HOUR_MS, true],
  ["in the last hour, nothing held off", "17:30", null, true],
  ["before the first, which the database shows as open", "08:30", HOUR_MS, false],
])("a window is open by both times or not at all: %s", async (_when, time, ahead_ms, open) => {
  expect(await isOpenAt(time, ahead_ms)).toBe(open);
});

test("the order's window closes by the later of both times", () => {
  const won = {
    claimed: { phone_number: "+12125550100" },
    slot: {},
    admitted: { lead: {}, open: { inputs: { cap: null } }, plan: plan(), configuration: configuration() },
  } as unknown as WonLead;
  const at = new Date("2026-11-21T12:00:00.000Z");
  expect([
    orderOf(won, at, HOUR_MS).dial_until,
    orderOf(won, at, -HOUR_MS).dial_until,
    orderOf(won, at).dial_until,
  ]).toEqual(["2026-11-21T17:00:00.000Z", "2026-11-21T18:00:00.000Z", "2026-11-21T18:00:00.000Z"]);
});
