import { MongoClient } from "mongodb";
import type { ConfigurationDoc } from "../../../services/config/configurations/configurations.model.ts";
import type { ConfigurationInput } from "../../../shared/contracts/records/configuration.ts";
import { asAdmin, asMerchant, asReseller, asUser, until } from "../../../local/harness/stage.ts";
import { configCalls, failing, tenant, UNKNOWN } from "../fixtures/config-calls.ts";
import { configStage } from "../fixtures/config-stage.ts";

const stage = configStage();
const { audited, changed } = stage;
const { save, configure, change } = configCalls(stage);

describe("changing a configuration", () => {
  const made = async (over: Partial<ConfigurationInput> = {}) => {
    const r = tenant();
    return { r, ...(await configure((await save(r, { merchant_id: `${r}.m` })).id, over)) };
  };

  test("any subset; the rest stays, null gives the default back, everybody is told", async () => {
    const { r, ...before } = await made({
      timezone: "Asia/Kolkata",
      inbound_block_message: "Sorry.",
      rate_limit_enabled: true,
      rate_limit_max_calls: 5,
    });
    changed.length = 0;
    const after = await change(asMerchant(r, `${r}.m`), before.id, {
      max_retry: 0,
      timezone: null,
      inbound_block_message: null,
      rate_limit_window_seconds: 60,
      rate_limit_whitelist: ["+4402079460958"],
    });
    expect(after).toEqual({
      ...before,
      max_retry: 0,
      timezone: "Europe/Paris",
      inbound_call_timezone: "Europe/Paris",
      inbound_block_message: null,
      rate_limit_window_seconds: 60,
      rate_limit_whitelist: ["+442079460958"],
      updated_at: after.updated_at,
    });
    expect(
      await stage.bus.call("config.getConfiguration", { by: asUser(r, `${r}.m`), config_id: before.id.toUpperCase() }),
    ).toEqual(after);
    await until("config.changed", () => changed.find((e) => e.template_id === before.template_id));
    expect(audited.at(-1)).toEqual({
      by: asMerchant(r, `${r}.m`),
      action: "configuration.updated",
      subject: before.id,
      reseller_id: r,
      merchant_id: `${r}.m`,
      details: {
        template_id: before.template_id,
        fields: ["max_retry", "timezone", "inbound_block_message", "rate_limit_window_seconds", "rate_limit_whitelist"],
      },
    });
  });

  test("is judged as a whole, in both directions", async () => {
    const { id } = await made();
    expect(await failing(change(asAdmin, id, { rate_limit_enabled: true }))).toEqual({
      code: "VALIDATION_FAILED",
      paths: ["rate_limit_max_calls"],
    });
    await change(asAdmin, id, { rate_limit_max_calls: 3 });
    await change(asAdmin, id, { rate_limit_enabled: true });
    expect(await failing(change(asAdmin, id, { rate_limit_max_calls: null }))).toEqual({
      code: "VALIDATION_FAILED",
      paths: ["rate_limit_max_calls"],
    });
    await change(asAdmin, id, {
      inbound_call_start_time: "09:00",
      inbound_call_end_time: "17:00",
      inbound_redirect_number: "+14155550100",
    });
    expect(await failing(change(asAdmin, id, { inbound_call_end_time: null }))).toEqual({
      code: "VALIDATION_FAILED",
      paths: ["inbound_call_end_time"],
    });
    await change(asAdmin, id, { inbound_block_action: "REDIRECT" });
    expect(await failing(change(asAdmin, id, { inbound_redirect_number: null, rate_limit_max_calls: null }))).toEqual({
      code: "VALIDATION_FAILED",
      paths: ["rate_limit_max_calls", "inbound_redirect_number"],
    });
    expect(await change(asAdmin, id, { inbound_redirect_number: null, inbound_block_action: null })).toMatchObject({
      inbound_block_action: "REJECT",
      inbound_redirect_number: null,
      rate_limit_max_calls: 3,
    });
  });

  test("many at once lose nothing", async () => {
    const { id } = await made();
    await Promise.all([
      change(asAdmin, id, { max_retry: 7 }),
      change(asAdmin, id, { enable_calling: false }),
      change(asAdmin, id, { retry_offset: 9 }),
      change(asAdmin, id, { timezone: "UTC" }),
    ]);
    expect(await stage.bus.call("config.getConfiguration", { by: asAdmin, config_id: id })).toMatchObject({
      max_retry: 7,
      enable_calling: false,
      retry_offset: 9,
      timezone: "UTC",
    });
  });

  test("pre-checks from before they were bounded stay when something else changes", async () => {
    const { id } = await made();
    const client = await MongoClient.connect(stage.uri);
    const stored = client.db().collection<ConfigurationDoc>("configurations");
    const { settings = "{}" } = (await stored.findOne({ _id: id })) ?? {};
    const pre_checks = [{ name: "check", enabled: false, body: "b".repeat(200_000) }];
    const larger = JSON.stringify({ ...(JSON.parse(settings) as object), pre_checks });
    await stored.updateOne({ _id: id }, { $set: { settings: larger } });
    await client.close();
    expect(await change(asAdmin, id, { max_retry: 7 })).toMatchObject({ max_retry: 7, pre_checks });
    expect((await failing(change(asAdmin, id, { pre_checks }))).paths).toEqual(["configuration.pre_checks"]);
  });

  test("others do not find it", async () => {
    const { r, id } = await made();
    for (const by of [asReseller(tenant()), asMerchant(r, `${r}.n`)]) {
      expect((await failing(change(by, id, { max_retry: 1 }))).code).toBe("CONFIGURATION_NOT_FOUND");
      expect((await failing(stage.bus.call("config.deleteConfiguration", { by, config_id: id }))).code).toBe(
        "CONFIGURATION_NOT_FOUND",
      );
      expect((await failing(stage.bus.call("config.getConfiguration", { by, config_id: id }))).code).toBe(
        "CONFIGURATION_NOT_FOUND",
      );
      expect((await failing(change(by, UNKNOWN, { max_retry: 1 }))).code).toBe("CONFIGURATION_NOT_FOUND");
    }
    expect((await failing(change(asUser(r, `${r}.m`), id, { max_retry: 1 }))).code).toBe("FORBIDDEN");
  });

  test("deleted, its template may have another", async () => {
    const { r, id, template_id } = await made();
    audited.length = 0;
    expect(await stage.bus.call("config.deleteConfiguration", { by: asReseller(r), config_id: id })).toEqual({});
    expect(audited.map((e) => [e.action, e.subject])).toEqual([["configuration.deleted", id]]);
    expect(
      (await failing(stage.bus.call("config.deleteConfiguration", { by: asReseller(r), config_id: id }))).code,
    ).toBe("CONFIGURATION_NOT_FOUND");
    expect((await stage.bus.call("config.plans", { template_ids: [template_id] })).plans[0]?.configuration).toBeNull();
    expect((await configure(template_id)).id).not.toBe(id);
  });
});
