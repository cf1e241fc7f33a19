import type { ParamsOf } from "../../../shared/bus/bus.ts";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";
import { asAdmin, asMerchant, asReseller, asUser, until } from "../../../local/harness/stage.ts";
import {
  configCalls,
  failing,
  settings,
  strictTemplate as input,
  tenant,
  UNKNOWN,
  type By,
} from "../fixtures/config-calls.ts";
import { configStage } from "../fixtures/config-stage.ts";

const stage = configStage({ alone: true });
const { changed } = stage;
const { saveStrict: save, configure } = configCalls(stage);

describe("templates", () => {
  test("are saved as version 1 with every default, and can be read back", async () => {
    const r = tenant();
    changed.length = 0;
    const record = await save({ reseller_id: r, merchant_id: `${r}.m` });
    expect(record).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      version: 1,
      reseller_id: r,
      merchant_id: `${r}.m`,
      name: "reminder",
      is_active: true,
      payload_schema: input({ reseller_id: r }).payload_schema,
      variables: [],
      initial_node: "a",
      nodes: [{ name: "a", say: "Hello {{name}}.", on_enter: [{ type: "end_call" }] }],
      global_functions: [],
      greeting: null,
      voicemail_message: null,
      do_not_call_function: true,
      do_not_call_key: null,
      voice: null,
      language: "en-US",
      limits: { max_call_seconds: 600, idle_seconds: 8, max_age_seconds: 604_800 },
      listening: {
        endpointing_ms: 300,
        max_wait_ms: 2500,
        interrupt_after_ms: 300,
        interrupt_after_words: 1,
        sensitivity: "normal",
        backchannels: [],
        phantom_phrases: [],
      },
      speaks_first: "agent",
      retry_on: null,
      engine: null,
      models: {},
      evaluators: [],
      summary: false,
      evaluation_wait_seconds: 2,
      created_at: expect.stringMatching(/Z$/),
      updated_at: record.created_at,
    });
    expect(await stage.bus.call("config.getTemplate", { by: asMerchant(r, `${r}.m`), id: record.id })).toEqual(record);
    expect(await stage.bus.call("config.getTemplate", { by: asAdmin, id: record.id.toUpperCase() })).toEqual(record);
    expect(await stage.bus.call("config.templateVersion", { template_id: record.id, version: 1 })).toEqual(record);
    await until("config.changed", () => changed.find((e) => e.template_id === record.id));
  });

  test("keep schemas whose keys mean something to the database", async () => {
    const payload_schema = {
      $id: "https://example.com/p",
      $ref: "#/$defs/p",
      $defs: { p: { properties: { "a.b": { type: "string" }, $set: {}, name: {} } } },
    };
    const record = await save({ reseller_id: tenant(), payload_schema, variables: ["name"] });
    expect((await stage.bus.call("config.getTemplate", { by: asAdmin, id: record.id })).payload_schema).toEqual(
      payload_schema,
    );
  });

  test("that can't work are refused with every fault, and nothing is saved", async () => {
    const r = tenant();
    const { code, paths } = await failing(
      save({ reseller_id: r, nodes: [{ name: "a", say: "{{nobody}}" }, { name: "b" }], initial_node: "a" }),
    );
    expect(code).toBe("TEMPLATE_INVALID");
    expect(paths.sort()).toEqual(["nodes.0", "nodes.0.say", "nodes.1", "nodes.1.name"]);
    expect((await stage.bus.call("config.listTemplates", { by: asReseller(r) })).count).toBe(0);
  });

  test.each<[string, string, By, Partial<TemplateInput> & { reseller_id: string }]>([
    ["a reseller in its own scope", "taken", asReseller("rs-x"), { reseller_id: "rs-x" }],
    ["a reseller for its merchant", "taken", asReseller("rs-x"), { reseller_id: "rs-x", merchant_id: "rs-x.m" }],
    ["a reseller elsewhere", "FORBIDDEN", asReseller("rs-x"), { reseller_id: "rs-y" }],
    [
      "a reseller for another's merchant",
      "MERCHANT_NOT_FOUND",
      asReseller("rs-x"),
      { reseller_id: "rs-x", merchant_id: "rs-y.m" },
    ],
    ["a merchant for itself", "taken", asMerchant("rs-x", "rs-x.m"), { reseller_id: "rs-x", merchant_id: "rs-x.m" }],
    [
      "a merchant for another",
      "FORBIDDEN",
      asMerchant("rs-x", "rs-x.m"),
      { reseller_id: "rs-x", merchant_id: "rs-x.n" },
    ],
    ["a merchant for its reseller", "FORBIDDEN", asMerchant("rs-x", "rs-x.m"), { reseller_id: "rs-x" }],
    ["a user", "FORBIDDEN", asUser("rs-x", "rs-x.m"), { reseller_id: "rs-x", merchant_id: "rs-x.m" }],
    ["an admin for nobody", "RESELLER_NOT_FOUND", asAdmin, { reseller_id: "nobody" }],
  ])("%s: %s", async (_who, code, by, over) => {
    expect((await failing(save(over, by))).code).toBe(code);
  });

  test("are listed newest first in pages, each asker its own", async () => {
    const r = tenant();
    const made: string[] = [];
    for (let i = 0; i < 5; i++)
      made.unshift(
        (await save({ reseller_id: r, merchant_id: i % 2 ? `${r}.m` : `${r}.n`, name: `t${i}`, is_active: i !== 0 }))
          .id,
      );
    const first = await stage.bus.call("config.listTemplates", { by: asReseller(r), limit: 3 });
    const second = await stage.bus.call("config.listTemplates", {
      by: asReseller(r),
      limit: 3,
      cursor: first.next_cursor!,
    });
    expect([...first.templates, ...second.templates].map((t) => t.id)).toEqual(made);
    expect([first.count, second.count, second.next_cursor]).toEqual([3, 2, null]);
    const names = async (params: Omit<ParamsOf<"config.listTemplates">, "limit">) =>
      (await stage.bus.call("config.listTemplates", params)).templates.map((t) => t.name);
    expect(await names({ by: asUser(r, `${r}.m`) })).toEqual(["t3", "t1"]);
    expect(await names({ by: asReseller(r), merchant_id: `${r}.m` })).toEqual(["t3", "t1"]);
    expect(await names({ by: asReseller(r), is_active: false })).toEqual(["t0"]);
    expect(await names({ by: asReseller(tenant()), reseller_id: r })).toEqual([]);
  });

  test("of others, and none at all, are not found", async () => {
    const r = tenant();
    const { id } = await save({ reseller_id: r, merchant_id: `${r}.m` });
    for (const by of [asReseller(tenant()), asMerchant(r, `${r}.n`)])
      expect((await failing(stage.bus.call("config.getTemplate", { by, id }))).code).toBe("TEMPLATE_NOT_FOUND");
    for (const other of [UNKNOWN, "reminder"])
      expect((await failing(stage.bus.call("config.getTemplate", { by: asAdmin, id: other }))).code).toBe(
        "TEMPLATE_NOT_FOUND",
      );
    expect((await failing(stage.bus.call("config.templateVersion", { template_id: id, version: 2 }))).code).toBe(
      "TEMPLATE_NOT_FOUND",
    );
  });
});

describe("configurations", () => {
  test("are created in full, under their template's owner", async () => {
    const r = tenant();
    const { id } = await save({ reseller_id: r, merchant_id: `${r}.m` });
    const record = await configure(id, {
      rate_limit_whitelist: ["+4402079460958"],
      pre_checks: [{ name: "crm", type: "external_api", enabled: true, default_on_failure: "proceed" }],
    });
    expect(record).toMatchObject({
      reseller_id: r,
      merchant_id: `${r}.m`,
      template_id: id,
      template: "reminder",
      ...settings,
      timezone: "Europe/Paris",
      enable_calling: true,
      enforce_blacklist: true,
      rate_limit_window_seconds: 3600,
      rate_limit_whitelist: ["+442079460958"],
      pre_checks: [{ name: "crm", type: "external_api", enabled: true, default_on_failure: "proceed" }],
    });
    expect((await stage.bus.call("config.listConfigurations", { by: asUser(r, `${r}.m`) })).configurations).toEqual([
      record,
    ]);
    expect(
      (await stage.bus.call("config.listConfigurations", { by: asAdmin, template_id: id })).configurations,
    ).toEqual([record]);
    expect(
      (await stage.bus.call("config.listConfigurations", { by: asReseller(tenant()), template_id: id })).count,
    ).toBe(0);
  });

  test("one per template, also in a race", async () => {
    const { id } = await save({ reseller_id: tenant() });
    const codes = await Promise.all(Array.from({ length: 6 }, async () => (await failing(configure(id))).code));
    expect(codes.sort()).toEqual([...Array.from({ length: 5 }, () => "CONFIGURATION_EXISTS"), "taken"]);
  });

  test("that can't work are refused with every fault", async () => {
    const { id } = await save({ reseller_id: tenant() });
    expect(
      await failing(
        configure(id, { rate_limit_enabled: true, timezone: "Mars/Olympus", inbound_block_action: "REDIRECT" }),
      ),
    ).toEqual({ code: "VALIDATION_FAILED", paths: ["timezone", "rate_limit_max_calls", "inbound_redirect_number"] });
    expect((await failing(configure(id, { call_start_time: "25:00" }))).code).toBe("VALIDATION_FAILED");
    expect((await failing(configure(id))).code).toBe("taken");
  });

  test("a foreign or unknown template is not found, a user may not write", async () => {
    const r = tenant();
    const { id } = await save({ reseller_id: r, merchant_id: `${r}.m` });
    expect((await failing(configure(id, {}, asReseller(tenant())))).code).toBe("TEMPLATE_NOT_FOUND");
    expect((await failing(configure(id, {}, asMerchant(r, `${r}.n`)))).code).toBe("TEMPLATE_NOT_FOUND");
    expect((await failing(configure(UNKNOWN))).code).toBe("TEMPLATE_NOT_FOUND");
    expect((await failing(configure(id, {}, asUser(r, `${r}.m`)))).code).toBe("FORBIDDEN");
    expect((await failing(configure(id, {}, asMerchant(r, `${r}.m`)))).code).toBe("taken");
  });
});
