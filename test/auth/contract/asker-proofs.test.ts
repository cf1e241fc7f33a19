import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asAdmin, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import auth from "../../../services/auth/auth.service.ts";
import { identifier } from "../../../services/gateway/api/bearer.ts";
import { KEYS_FILE, makeBusUsers, seedFile } from "../../../shared/bus/bus-keys.ts";
import { busSigners } from "../../../shared/bus/bus-signers.ts";
import { signatures } from "../../../shared/bus/signatures.ts";
import { systemClock } from "../../../shared/time/clock.ts";

/** The bus is open, so that the test may call; auth has its key, as before a bus is closed. */
const folder = mkdtempSync(join(tmpdir(), "callagent-proofs-"));
makeBusUsers(folder, "callagent");
const keys = { BUS_KEYS_FILE: join(folder, KEYS_FILE) };
const merchants = standIn("merchants", {
  active: () => ({ active: true }),
  lookup: () => ({ reseller: true, merchant: false }),
});
const JWT_PRIVATE_KEY = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();

let stage: Stage;
let keyless: Stage;
beforeAll(async () => {
  const env = { JWT_PRIVATE_KEY };
  stage = await setStage({
    services: [auth, merchants],
    env: { ...env, ...keys, BUS_KEY_FILE: join(folder, seedFile("auth")) },
  });
  keyless = await setStage({ services: [auth, merchants], env });
});
afterAll(async () => {
  await Promise.all([stage.stop(), keyless.stop()]);
  rmSync(folder, { recursive: true });
});

const tokenOn = async ({ bus }: Stage): Promise<string> =>
  (await bus.call("auth.issueS2s", { by: asAdmin, name: "crm", role: "reseller", reseller_id: "r1" })).token;
const { signers } = busSigners({ BUS_TRUST: "open", ...keys, BUS_KEY_FILE: join(folder, seedFile("leads")) });
const isProven = (by: Parameters<ReturnType<typeof signatures>["isProven"]>[0]): boolean =>
  signers !== null && signatures(signers, "callagent", systemClock).isProven(by);

test("who asks is signed for a gateway that wants it, and any service can verify that", async () => {
  const by = await identifier(systemClock).identify(stage.bus, `Bearer ${await tokenOn(stage)}`, () => () => undefined);
  expect(by).toMatchObject({ kind: "s2s", role: "reseller", reseller_id: "r1" });
  expect(isProven(by)).toBe(true);
  expect(isProven({ ...by, role: "admin" })).toBe(false);
});

test("a gateway of version 0.2, which knows no proof, is sent none", async () => {
  const by = await stage.bus.call("auth.identify", { token: await tokenOn(stage) });
  expect(Object.keys(by).sort()).toEqual(["id", "kind", "merchant_id", "reseller_id", "role"]);
});

test("auth without a key answers as before", async () => {
  const by = await keyless.bus.call("auth.identify", { token: await tokenOn(keyless), proof: true });
  expect(by).not.toHaveProperty("proof");
});
