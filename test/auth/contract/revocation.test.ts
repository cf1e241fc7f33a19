import { generateKeyPairSync } from "node:crypto";
import auth from "../../../services/auth/auth.service.ts";
import { identifier, REMEMBER_MS, type Identifier } from "../../../services/gateway/api/bearer.ts";
import merchants from "../../../services/merchants/merchants.service.ts";
import type { Bus, ParamsOf } from "../../../shared/bus/bus.ts";
import { fail } from "../../../shared/errors.ts";
import { asAdmin, asMerchant, asReseller, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

/** A revocation takes effect on every node within this. */
const HOLDS_WITHIN_MS = 5000;
const clock = virtualClock();
const hooks = standIn("webhook", { dropEndpoints: () => ({}) });
const config = standIn("config", { owns: () => ({ any: false }), dropSecrets: () => ({}) });
const leads = standIn("leads", { unfinished: () => ({ any: false }) });

let stage: Stage;
let gateways: Identifier[];
beforeAll(async () => {
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  stage = await setStage({ services: [auth, merchants, config, leads, hooks], env: { JWT_PRIVATE_KEY: pem }, clock });
});
beforeEach(() => {
  gateways = [identifier(clock), identifier(clock)];
});
afterAll(async () => {
  await stage.stop();
});

const failure = (type: string) => expect.objectContaining({ type });
/** What each gateway says of the token at this moment. */
const everywhere = (token: string) =>
  Promise.all(
    gateways.map((g) =>
      g
        .identify(stage.bus, `Bearer ${token}`, () => () => undefined)
        .then(
          () => "known",
          (e: { type: string }) => e.type,
        ),
    ),
  );
const reseller = async () => (await stage.bus.call("merchants.createReseller", { by: asAdmin, name: "Acme" })).id;
async function tenant() {
  const reseller_id = await reseller();
  const merchant_id = (
    await stage.bus.call("merchants.create", { by: asAdmin, name: "Shop", reseller_id, contact_email: "a@example.com" })
  ).id;
  return { reseller_id, merchant_id };
}
const issue = (over: Partial<ParamsOf<"auth.issueS2s">> & { reseller_id: string }) =>
  stage.bus.call("auth.issueS2s", { by: asAdmin, name: "crm", role: "reseller", ...over });
const list = (by: ParamsOf<"auth.listS2s">["by"] = asAdmin, filter: Partial<ParamsOf<"auth.listS2s">> = {}) =>
  stage.bus.call("auth.listS2s", { by, ...filter });
const PASSWORD = "correct horse battery";

describe("a revocation takes effect on every gateway in time", () => {
  type Case = { token: string; end(): Promise<unknown> };
  const user = async (over: Partial<ParamsOf<"auth.createUser">> = {}) => {
    const { reseller_id, merchant_id } = await tenant();
    const made = await stage.bus.call("auth.createUser", {
      by: asAdmin,
      email: `u-${merchant_id}@example.com`,
      password: PASSWORD,
      role: "user",
      reseller_id,
      merchant_id,
      ...over,
    });
    return {
      ...made,
      token: (await stage.bus.call("auth.login", { email: made.email, password: PASSWORD })).access_token,
    };
  };
  const merchantToken = async () => {
    const owner = await tenant();
    return { ...owner, token: (await issue({ ...owner, role: "merchant" })).token };
  };
  const cases: [string, () => Promise<Case>][] = [
    [
      "a revoked token",
      async () => {
        const { token, reseller_id } = await merchantToken();
        return {
          token,
          end: async () =>
            stage.bus.call("auth.revokeS2s", {
              by: asReseller(reseller_id),
              id: (await list(asReseller(reseller_id))).s2s_tokens[0]!.id,
            }),
        };
      },
    ],
    [
      "a token whose merchant is switched off",
      async () => {
        const { token, merchant_id } = await merchantToken();
        return {
          token,
          end: () => stage.bus.call("merchants.update", { by: asAdmin, id: merchant_id, is_active: false }),
        };
      },
    ],
    [
      "a token whose merchant is deleted",
      async () => {
        const { token, merchant_id } = await merchantToken();
        return { token, end: () => stage.bus.call("merchants.remove", { by: asAdmin, id: merchant_id }) };
      },
    ],
    [
      "a merchant's token whose reseller is switched off",
      async () => {
        const { token, reseller_id } = await merchantToken();
        return {
          token,
          end: () => stage.bus.call("merchants.updateReseller", { by: asAdmin, id: reseller_id, is_active: false }),
        };
      },
    ],
    [
      "a user that is switched off",
      async () => {
        const { token, id } = await user();
        return { token, end: () => stage.bus.call("auth.updateUser", { by: asAdmin, id, is_active: false }) };
      },
    ],
    [
      "a user that is deleted",
      async () => {
        const { token, id } = await user();
        return { token, end: () => stage.bus.call("auth.deleteUser", { by: asAdmin, id }) };
      },
    ],
    [
      "a session that was logged out",
      async () => {
        const { token } = await user();
        return { token, end: () => stage.bus.call("auth.logOut", { token }) };
      },
    ],
    [
      "a user that changed its password",
      async () => {
        const { token } = await user();
        const change = { token, current_password: PASSWORD, new_password: `${PASSWORD}!` };
        return { token, end: () => stage.bus.call("auth.changePassword", change) };
      },
    ],
    [
      "a user with a new password",
      async () => {
        const { token, id } = await user();
        return { token, end: () => stage.bus.call("auth.updateUser", { by: asAdmin, id, password: `${PASSWORD}!` }) };
      },
    ],
  ];
  test.each(cases)("%s", async (_, make) => {
    const { token, end } = await make();
    expect(await everywhere(token)).toEqual(["known", "known"]);
    await end();
    await clock.advance(HOLDS_WITHIN_MS - 1);
    expect(await everywhere(token)).toEqual(["UNAUTHENTICATED", "UNAUTHENTICATED"]);
  });
});

test("an identity is cached from the request on: a slow answer for less time, one that took too long not at all", async () => {
  const [gateway] = gateways;
  let asked = 0;
  let slow_ms = REMEMBER_MS - 1000;
  const bus = {
    call: async () => {
      asked++;
      await clock.advance(slow_ms);
      return asAdmin;
    },
  } as unknown as Bus;
  const ask = () => gateway!.identify(bus, "Bearer some-token", () => () => undefined);
  await ask();
  await clock.advance(999);
  await ask();
  expect(asked).toBe(1);
  await clock.advance(1);
  slow_ms = REMEMBER_MS;
  await ask();
  slow_ms = 0;
  await ask();
  expect(asked).toBe(3);
  await clock.advance(REMEMBER_MS - 1);
  await ask();
  expect(asked).toBe(3);
});

test("a token that was accepted before and is refused now costs auth one request in four seconds, however often it is presented", async () => {
  const [gateway] = gateways;
  let asked = 0;
  let isRevoked = false;
  const bus = {
    call: async () => {
      asked++;
      if (isRevoked) fail("UNAUTHENTICATED", "The bearer token is revoked.");
      return asAdmin;
    },
  } as unknown as Bus;
  const ask = () => gateway!.identify(bus, "Bearer some-token", () => () => undefined);
  const refused = () => expect(ask()).rejects.toEqual(failure("UNAUTHENTICATED"));
  await ask();
  isRevoked = true;
  await clock.advance(REMEMBER_MS);
  for (let i = 0; i < 10; i++) await refused();
  expect(asked).toBe(2);
  // its merchant may be switched on again
  isRevoked = false;
  await clock.advance(REMEMBER_MS);
  await ask();
  expect(asked).toBe(3);
});

describe("the list of tokens", () => {
  test("shows what a person knows a token by, and never the token or its hash", async () => {
    const owner = await tenant();
    const { token } = await issue({ ...owner, role: "user" });
    const by = asReseller(owner.reseller_id);
    const [shown] = (await list(by)).s2s_tokens;
    expect(shown).toEqual({
      id: expect.any(String),
      prefix: token.slice(0, 14),
      name: "crm",
      role: "user",
      ...owner,
      created_at: clock.now().toISOString(),
      last_seen_at: null,
      expires_at: new Date(clock.now().getTime() + 365 * 86_400_000).toISOString(),
      revoked_at: null,
      issued_by: { kind: asAdmin.kind, id: asAdmin.id },
    });
    await stage.bus.call("auth.identify", { token });
    await clock.advance(1000);
    await stage.bus.call("auth.revokeS2s", { by, id: shown!.id });
    expect((await list(by)).s2s_tokens).toEqual([
      { ...shown, last_seen_at: shown!.created_at, revoked_at: clock.now().toISOString() },
    ]);
  });

  test("is scoped and filtered", async () => {
    const [a, b] = [await tenant(), await tenant()];
    for (const owner of [a, b]) {
      await issue({ ...owner, role: "merchant", name: "m" });
      await issue({ reseller_id: owner.reseller_id, name: "r" });
    }
    const names = async (by: ParamsOf<"auth.listS2s">["by"], filter: Partial<ParamsOf<"auth.listS2s">> = {}) =>
      (await list(by, filter)).s2s_tokens.map((t) => t.name).sort();
    expect(await names(asReseller(a.reseller_id))).toEqual(["m", "r"]);
    expect(await names(asReseller(a.reseller_id), { reseller_id: b.reseller_id })).toEqual([]);
    expect(await names(asReseller(a.reseller_id), { role: "merchant" })).toEqual(["m"]);
    expect(await names(asAdmin, { merchant_id: b.merchant_id })).toEqual(["m"]);
    expect(await names(asMerchant(a.reseller_id, a.merchant_id))).toEqual(["m"]);
  });
});

describe("revoking", () => {
  test("another's token is not found, as an unknown one, and stays valid; revoking twice is idempotent with one entry in the audit log", async () => {
    const owner = await tenant();
    const { token } = await issue({ reseller_id: owner.reseller_id, name: "backend" });
    const { id, prefix } = (await list(asReseller(owner.reseller_id))).s2s_tokens[0]!;
    await expect(stage.bus.call("auth.revokeS2s", { by: asReseller("other"), id })).rejects.toEqual(
      failure("TOKEN_NOT_FOUND"),
    );
    await expect(stage.bus.call("auth.revokeS2s", { by: asAdmin, id: "nobody" })).rejects.toEqual(
      failure("TOKEN_NOT_FOUND"),
    );
    await clock.advance(1000);
    await stage.bus.call("auth.identify", { token });
    for (let i = 0; i < 2; i++) {
      await clock.advance(1000);
      await stage.bus.call("auth.revokeS2s", { by: asAdmin, id });
    }
    const { entries } = await stage.bus.call("auth.listAudit", { by: asReseller(owner.reseller_id), subject: id });
    expect(entries.map((e) => [e.action, e.actor.id, e.details])).toEqual([
      ["token.revoked", asAdmin.id, { name: "backend", role: "reseller", prefix, tokens: 0, users: 0 }],
      ["token.used", id, { name: "backend" }],
      ["token.issued", asAdmin.id, { name: "backend", role: "reseller", prefix }],
    ]);
  });

  test("the first use of a day is in the audit log, later uses are not", async () => {
    const { token } = await issue({ reseller_id: await reseller() });
    const { id } = (await list()).s2s_tokens[0]!;
    const uses = async () =>
      (await stage.bus.call("auth.listAudit", { by: asAdmin, subject: id, action: "token.used" })).count;
    clock.set(new Date("2026-12-01T00:00:00.000Z"));
    await stage.bus.call("auth.identify", { token });
    await clock.advance(3_600_000);
    await stage.bus.call("auth.identify", { token });
    expect(await uses()).toBe(1);
    await clock.advance(23 * 3_600_000);
    await stage.bus.call("auth.identify", { token });
    expect(await uses()).toBe(2);
  });
});
