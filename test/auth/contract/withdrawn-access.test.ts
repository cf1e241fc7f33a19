import { generateKeyPairSync } from "node:crypto";
import auth from "../../../services/auth/auth.service.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import { asAdmin, asReseller, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

/** A stolen token of a reseller, with what whoever stole it made of it. */
const clock = virtualClock();
const PASSWORD = "correct horse battery";
const merchants = standIn("merchants", {
  lookup: () => ({ reseller: true, merchant: true }),
  active: () => ({ active: true }),
});

let stage: Stage;
beforeAll(async () => {
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  stage = await setStage({ services: [auth, merchants], env: { JWT_PRIVATE_KEY: pem }, clock });
});
afterAll(() => stage.stop());

let count = 0;
const issue = async (by: By, reseller_id = "r1"): Promise<{ token: string; by: By }> => {
  const { token } = await stage.bus.call("auth.issueS2s", { by, name: `t${++count}`, role: "reseller", reseller_id });
  return { token, by: await stage.bus.call("auth.identify", { token }) };
};
const person = async (by: By) => {
  const email = `person${++count}@example.com`;
  const { id } = await stage.bus.call("auth.createUser", { by, email, password: PASSWORD, role: "reseller", reseller_id: "r1" }); // prettier-ignore
  return { id, email, by: { kind: "user", id, role: "reseller", reseller_id: "r1", merchant_id: null } satisfies By };
};
const login = (email: string, password = PASSWORD) => stage.bus.call("auth.login", { email, password });
const revoke = (id: string, over: Partial<ParamsOf<"auth.revokeS2s">> = {}) =>
  stage.bus.call("auth.revokeS2s", { by: asAdmin, id, ...over });
const failure = (type: string) => expect.objectContaining({ type });
const knows = (token: string) =>
  stage.bus.call("auth.identify", { token }).then(
    () => true,
    () => false,
  );

test("a revoked token's descendants end with it: tokens it issued, users it made, and what those issued", async () => {
  const stolen = await issue(asAdmin);
  const child = await issue(stolen.by);
  const user = await person(child.by);
  const { access_token } = await login(user.email);
  const grandchild = await issue(user.by);
  const bystander = await issue(asAdmin);

  await revoke(stolen.by.id);
  for (const { token } of [stolen, child, grandchild, { token: access_token }])
    expect({ token, knows: await knows(token) }).toEqual({ token, knows: false });
  await expect(login(user.email)).rejects.toEqual(failure("INVALID_CREDENTIALS"));
  expect(await knows(bystander.token)).toBe(true);

  const listed = await stage.bus.call("auth.listS2s", { by: asAdmin, issued_by: user.id });
  expect(listed.s2s_tokens).toMatchObject([
    { id: grandchild.by.id, issued_by: { kind: "user", id: user.id }, revoked_with: stolen.by.id },
  ]);
  const audit = async (subject: string, action: string) =>
    (await stage.bus.call("auth.listAudit", { by: asAdmin, subject, action })).entries.map((e) => e.details);
  expect(await audit(stolen.by.id, "token.revoked")).toMatchObject([{ tokens: 2, users: 1 }]);
  expect(await audit(grandchild.by.id, "token.revoked")).toMatchObject([{ revoked_with: stolen.by.id }]);
  expect(await audit(user.id, "user.updated")).toEqual([{ is_active: false, revoked_with: stolen.by.id }]);
});

test("a user whose password the token set is switched off; one who changed it since with another's help is not", async () => {
  const stolen = await issue(asAdmin);
  const [taken, saved] = [await person(asAdmin), await person(asAdmin)];
  for (const { id } of [taken, saved])
    await stage.bus.call("auth.updateUser", { by: stolen.by, id, password: `${PASSWORD} 2` });
  await stage.bus.call("auth.updateUser", { by: asAdmin, id: saved.id, password: `${PASSWORD} 3` });
  const given = await stage.bus.call("auth.listUsers", { by: asAdmin, access_given_by: stolen.by.id });
  expect(given.users.map(({ id }) => id)).toEqual([taken.id]);
  await revoke(stolen.by.id);
  await expect(login(taken.email, `${PASSWORD} 2`)).rejects.toEqual(failure("INVALID_CREDENTIALS"));
  await login(saved.email, `${PASSWORD} 3`);
});

test.each<[string, Partial<ParamsOf<"auth.updateUser">>, Partial<ParamsOf<"auth.updateUser">>]>([
  ["raised", { role: "merchant", merchant_id: "m1" }, { role: "reseller", merchant_id: null }],
  ["moved to another merchant", { role: "merchant", merchant_id: "m1" }, { merchant_id: "m2" }],
  ["switched on again", { is_active: false }, { is_active: true }],
])("a user whom the token has %s is switched off, whoever made it", async (_, before, given) => {
  const stolen = await issue(asAdmin);
  const [widened, own] = [await person(asAdmin), await person(asAdmin)];
  for (const { id } of [widened, own]) await stage.bus.call("auth.updateUser", { by: asAdmin, id, ...before });
  await stage.bus.call("auth.updateUser", { by: stolen.by, id: widened.id, ...given });
  await stage.bus.call("auth.updateUser", { by: asAdmin, id: own.id, ...given });
  const listed = await stage.bus.call("auth.listUsers", { by: asAdmin, access_given_by: stolen.by.id });
  expect(listed.users.map(({ id }) => id)).toEqual([widened.id]);
  await revoke(stolen.by.id);
  await expect(login(widened.email)).rejects.toEqual(failure("INVALID_CREDENTIALS"));
  await login(own.email);
  // and nothing of it is given in the seconds after
  await stage.bus.call("auth.updateUser", { by: asAdmin, id: own.id, ...before });
  const late = stage.bus.call("auth.updateUser", { by: stolen.by, id: own.id, ...given });
  await expect(late).rejects.toEqual(failure("UNAUTHENTICATED"));
  await expect(login(own.email)).rejects.toEqual(failure("INVALID_CREDENTIALS"));
});

test("a user who is given less by the token stays", async () => {
  const stolen = await issue(asAdmin);
  const user = await person(asAdmin);
  await stage.bus.call("auth.updateUser", { by: stolen.by, id: user.id, role: "merchant", merchant_id: "m1" });
  await revoke(stolen.by.id);
  await login(user.email);
});

test("a planned change keeps what the token issued", async () => {
  const old = await issue(asAdmin);
  const child = await issue(old.by);
  const user = await person(old.by);
  await revoke(old.by.id, { keep_issued: true });
  expect([await knows(old.token), await knows(child.token)]).toEqual([false, true]);
  await login(user.email);
  // and what was kept ends when the token is revoked once more without that
  await revoke(old.by.id);
  expect(await knows(child.token)).toBe(false);
});

test("nobody else's access ends: not in another reseller, not an admin's", async () => {
  const stolen = await issue(asAdmin);
  const user = await person(stolen.by);
  await stage.bus.call("auth.updateUser", { by: asAdmin, id: user.id, reseller_id: "r2" });
  const admin = await person(stolen.by);
  await stage.bus.call("auth.updateUser", { by: asAdmin, id: admin.id, role: "admin" });
  await revoke(stolen.by.id, { by: asReseller("r1") });
  await login(user.email);
  await revoke(stolen.by.id);
  await login(admin.email);
  await expect(login(user.email)).rejects.toEqual(failure("INVALID_CREDENTIALS"));
});

test("what a gateway lets through in the seconds after the revocation is void", async () => {
  const stolen = await issue(asAdmin);
  const victim = await person(asAdmin);
  await revoke(stolen.by.id);
  await expect(issue(stolen.by)).rejects.toEqual(failure("UNAUTHENTICATED"));
  await expect(person(stolen.by)).rejects.toEqual(failure("UNAUTHENTICATED"));
  await expect(login(`person${count}@example.com`)).rejects.toEqual(failure("INVALID_CREDENTIALS"));
  const change = { by: stolen.by, id: victim.id, password: `${PASSWORD} 2` };
  await expect(stage.bus.call("auth.updateUser", change)).rejects.toEqual(failure("UNAUTHENTICATED"));
  await expect(login(victim.email, `${PASSWORD} 2`)).rejects.toEqual(failure("INVALID_CREDENTIALS"));
});

test("a user who was deleted issues nothing in the seconds after, and makes nobody", async () => {
  const user = await person(asAdmin);
  await stage.bus.call("auth.deleteUser", { by: asAdmin, id: user.id });
  await expect(issue(user.by)).rejects.toEqual(failure("UNAUTHENTICATED"));
  await expect(person(user.by)).rejects.toEqual(failure("UNAUTHENTICATED"));
  await expect(login(`person${count}@example.com`)).rejects.toEqual(failure("INVALID_CREDENTIALS"));
});

test("a user who was switched off leaves the tokens it issued, and issues none in the seconds after", async () => {
  const user = await person(asAdmin);
  const kept = await issue(user.by);
  await stage.bus.call("auth.updateUser", { by: asAdmin, id: user.id, is_active: false });
  expect(await knows(kept.token)).toBe(true);
  await expect(issue(user.by)).rejects.toEqual(failure("UNAUTHENTICATED"));
});
