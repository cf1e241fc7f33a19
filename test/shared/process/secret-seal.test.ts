import { readEnv } from "../../../shared/process/env.ts";
import { secretSeal } from "../../../shared/process/secret-seal.ts";
import { codeOf, messageOf } from "../../../shared/errors.ts";
import { randomIds } from "../../../shared/ids.ts";

/** Secrets as they lie in the database. */
const key = (of: number): string => Buffer.alloc(32, of).toString("base64");
const seal = (SECRETS_KEY?: string, SECRETS_OTHER_KEY?: string) =>
  secretSeal({ SECRETS_KEY, SECRETS_OTHER_KEY }, randomIds);
const refusal = (run: () => unknown): [string, string] => {
  try {
    run();
    return ["taken", ""];
  } catch (error) {
    return [codeOf(error), messageOf(error)];
  }
};

test("a sealed text opens for its owner and name alone, says nothing of itself, and is another each time", () => {
  const { seal: close, open } = seal(key(1));
  const sealed = close("Bearer crm-é", "m1 CRM");
  expect(sealed).not.toContain("crm");
  expect(open(sealed, "m1 CRM")).toBe("Bearer crm-é");
  expect(close("Bearer crm-é", "m1 CRM")).not.toBe(sealed);
  expect(refusal(() => open(sealed, "m2 CRM"))[0]).toBe("NOT_AVAILABLE");
  const flipped = sealed.slice(0, -3) + (sealed.at(-3) === "A" ? "B" : "A") + sealed.slice(-2);
  expect(refusal(() => open(flipped, "m1 CRM"))[0]).toBe("NOT_AVAILABLE");
  expect(open("whsec_in_clear", "any")).toBe("whsec_in_clear");
});

test("keys change without a stop: the other key opens, and what it sealed is stale", () => {
  const old = seal(key(1)).seal("secret", "c");
  const [reader, next] = [seal(undefined, key(1)), seal(key(2), key(1))];
  expect([reader.open(old, "c"), reader.seals, reader.isStale("in clear")]).toEqual(["secret", false, false]);
  expect([next.open(old, "c"), next.isStale(old), next.isStale("in clear")]).toEqual(["secret", true, true]);
  const anew = next.seal("secret", "c");
  expect([next.isStale(anew), seal(key(2)).open(anew, "c")]).toEqual([false, "secret"]);
  const [code, words] = refusal(() => seal(key(2)).open(old, "c"));
  expect([code, words]).toEqual(["NOT_AVAILABLE", expect.stringMatching(/neither SECRETS_KEY nor SECRETS_OTHER_KEY/)]);
  expect(words).not.toContain(key(1));
  expect(refusal(() => seal().seal("secret", "c"))).toEqual(["NOT_AVAILABLE", expect.stringContaining("SECRETS_KEY")]);
});

test.each([
  ["short", "c2hvcnQ="],
  ["no base64", "*".repeat(44)],
  ["hex", "0".repeat(64)],
])("a key that is %s is refused at start, without being shown", (_what, given) => {
  expect(() => readEnv({ SECRETS_KEY: given })).toThrow(/SECRETS_KEY must be 32 bytes as base64.*openssl rand/);
  expect(() => readEnv({ SECRETS_KEY: given })).not.toThrow(given);
});
