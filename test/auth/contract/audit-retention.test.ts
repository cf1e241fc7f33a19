import { generateKeyPairSync } from "node:crypto";
import auth from "../../../services/auth/auth.service.ts";
import { asAdmin, asUser, setStage, type Stage } from "../../../local/harness/stage.ts";
import { untilPassed, virtualClock, type VirtualClock } from "../../fixtures/virtual-clock.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** An auth service with one entry of a hundred days ago, more than one write deletes of a hundred and one, and one of now. */
async function aged(env: Record<string, string>): Promise<{ stage: Stage; clock: VirtualClock }> {
  const clock = virtualClock();
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const stage = await setStage({ services: [auth], env: { JWT_PRIVATE_KEY: pem, ...env }, clock });
  const record = (subject: string) =>
    stage.bus.call("auth.record", { by: asUser("r1", "m1"), action: "lead.aborted", subject, reseller_id: "r1", merchant_id: "m1" }); // prettier-ignore
  for (let i = 0; i < 501; i++) await record("oldest");
  await clock.pass(DAY_MS);
  await record("older");
  // the look that ends the oldest comes within an hour
  await clock.pass(100 * DAY_MS - 2 * HOUR_MS);
  await record("young");
  return { stage, clock };
}

const subjects = async ({ bus }: Stage): Promise<string[]> => {
  const { entries } = await bus.call("auth.listAudit", { by: asAdmin, limit: 3 });
  return [...new Set(entries.map(({ subject }) => subject))];
};

test("entries of the audit log end by AUDIT_RETENTION_DAYS, oldest first, and the younger ones stay", async () => {
  const { stage, clock } = await aged({ AUDIT_RETENTION_DAYS: "100" });
  await untilPassed(clock, "the oldest to be gone", MINUTE_MS, async () => {
    const { count } = await stage.bus.call("auth.listAudit", { by: asAdmin, subject: "oldest", limit: 1 });
    return count === 0 ? true : undefined;
  });
  expect(await subjects(stage)).toEqual(["young", "older"]);
  await untilPassed(clock, "the next look", HOUR_MS, async () =>
    (await subjects(stage)).length === 1 ? true : undefined,
  );
  expect(await subjects(stage)).toEqual(["young"]);
  await stage.stop();
});

test("nothing of the audit log ends where no period is set", async () => {
  const { stage, clock } = await aged({});
  await clock.pass(3650 * DAY_MS);
  expect(await subjects(stage)).toEqual(["young", "older", "oldest"]);
  await stage.stop();
});
