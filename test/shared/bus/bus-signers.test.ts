import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KEYS_FILE, makeBusUsers, seedFile } from "../../../shared/bus/bus-keys.ts";
import { busSigners } from "../../../shared/bus/bus-signers.ts";
import type { ServiceName } from "../../../shared/contracts/index.ts";
import { readEnv } from "../../../shared/process/env.ts";

const folder = mkdtempSync(join(tmpdir(), "callagent-signers-"));
const strangers = mkdtempSync(join(tmpdir(), "callagent-signers-"));
afterAll(() => [folder, strangers].forEach((f) => rmSync(f, { recursive: true })));
makeBusUsers(folder, "signed");
makeBusUsers(strangers, "signed");

const settings = (service: ServiceName, more: Record<string, string> = {}): Record<string, string> => ({
  BUS_TRUST: "signed",
  BUS_KEYS_FILE: join(folder, KEYS_FILE),
  BUS_KEY_FILE: join(folder, seedFile(service)),
  ...more,
});

describe("the files", () => {
  const broken = join(folder, "broken");
  writeFileSync(broken, "{}");
  test.each<[string, Record<string, string>, RegExp]>([
    ["no files", { BUS_TRUST: "signed" }, /signed calls need BUS_KEYS_FILE/],
    ["no key of its own", { BUS_KEYS_FILE: join(folder, KEYS_FILE) }, /and BUS_KEY_FILE or NATS_NKEY_FILE/],
    [
      "a key that is not there",
      settings("leads", { BUS_KEY_FILE: "/no/such/file" }),
      /BUS_KEY_FILE names \/no\/such\/file, which holds no seed/,
    ],
    [
      "a key that is none",
      settings("leads", { BUS_KEY_FILE: broken }),
      /BUS_KEY_FILE names .*broken, which holds no seed/,
    ],
    [
      "no public keys",
      settings("leads", { BUS_KEYS_FILE: seedFile("leads") }),
      /BUS_KEYS_FILE names leads.nk, which holds no public keys/,
    ],
    ["keys of nobody", settings("leads", { BUS_KEYS_FILE: broken }), /is none of those/],
    [
      "a key of another deployment",
      settings("leads", { BUS_KEY_FILE: join(strangers, seedFile("leads")) }),
      /the key of BUS_KEY_FILE is none of those in/,
    ],
  ])("with %s a process does not start", (_what, env, why) => {
    expect(() => readEnv(env)).toThrow(why);
    expect(() => readEnv(env)).not.toThrow(new RegExp(readFileSync(join(folder, seedFile("leads")), "utf8").trim()));
  });
  test("NATS_NKEY_FILE is the key where no other is given", () => {
    const env = {
      BUS_TRUST: "signed",
      BUS_KEYS_FILE: join(folder, KEYS_FILE),
      NATS_NKEY_FILE: join(folder, seedFile("webhook")),
    };
    expect(busSigners(readEnv(env)).signers?.name).toBe("webhook");
  });
});
