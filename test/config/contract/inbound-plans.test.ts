import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import config from "../../../services/config/config.service.ts";
import type { ConfigurationInput } from "../../../shared/contracts/records/configuration.ts";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";
import { codeOf } from "../../../shared/errors.ts";
import { asAdmin, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import { settings, tenant } from "../fixtures/config-calls.ts";

const addresses: string[] = [];
let stage: Stage;
beforeAll(async () => {
  stage = await setStage({
    services: [
      config,
      standIn("merchants", { lookup: () => ({ reseller: true, merchant: true }) }),
      standIn("auth", { record: () => ({}) }),
      standIn("leads", { unfinished: () => ({ any: false }) }),
      standIn("webhook", {
        checkAddresses: ({ urls }) => {
          addresses.push(...urls);
          return { refusals: urls.map((u) => (u.startsWith("https") ? null : "it is not https")) };
        },
      }),
    ],
  });
});
afterAll(async () => {
  await stage.stop();
});
beforeEach(() => {
  addresses.length = 0;
});

const template = async (
  reseller_id: string,
  merchant_id: string | null = null,
  over: Partial<TemplateInput> = {},
): Promise<string> =>
  (
    await stage.bus.call("config.createTemplate", {
      by: asAdmin,
      template: {
        reseller_id,
        ...(merchant_id === null ? {} : { merchant_id }),
        name: "hotline",
        language: "de-DE",
        initial_node: "a",
        nodes: [{ name: "a", say: "Hello.", on_enter: [{ type: "end_call" }] }],
        ...over,
      },
    })
  ).id;
const configure = (template_id: string, over: Partial<ConfigurationInput> = {}) =>
  stage.bus.call("config.createConfiguration", { by: asAdmin, configuration: { template_id, ...settings, ...over } });
const planOf = async (reseller_id: string | null, merchant_id: string | null, template_id: string | null = null) =>
  (await stage.bus.call("config.inboundFor", { reseller_id, merchant_id, template_id })).plan;

describe("the template of an inbound call", () => {
  test("is the one the number names, whole, with its configuration", async () => {
    const r = tenant();
    const [named, other] = [await template(r), await template(r)];
    await configure(other, { enable_inbound: true });
    const configuration = await configure(named);
    expect(await planOf(r, null, named)).toEqual({
      template_id: named,
      version: 1,
      name: "hotline",
      reseller_id: r,
      merchant_id: null,
      is_active: true,
      language: "de-DE",
      max_call_seconds: expect.any(Number),
      configuration,
    });
  });

  test("without one named is the merchant's that takes calls, then the reseller's, then any", async () => {
    const r = tenant();
    const [of_reseller, of_merchant] = [await template(r), await template(r, "m")];
    expect(await planOf(r, "m")).toBeNull();
    const [reseller_config, merchant_config] = [await configure(of_reseller), await configure(of_merchant)];
    expect((await planOf(r, "m"))?.template_id).toBe(of_merchant);
    await stage.bus.call("config.updateConfiguration", {
      by: asAdmin,
      config_id: reseller_config.id,
      configuration: { enable_inbound: true },
    });
    expect((await planOf(r, "m"))?.template_id).toBe(of_reseller);
    await stage.bus.call("config.updateConfiguration", {
      by: asAdmin,
      config_id: merchant_config.id,
      configuration: { enable_inbound: true },
    });
    expect((await planOf(r, "m"))?.template_id).toBe(of_merchant);
    expect((await planOf(r, null))?.template_id).toBe(of_reseller);
    await stage.bus.call("config.updateTemplate", { by: asAdmin, id: of_merchant, template: { is_active: false } });
    expect((await planOf(r, "m"))?.template_id).toBe(of_reseller);
  });

  test("that the owner may not use, or that is gone, is passed over; the pool has none of its own", async () => {
    const [r, s] = [tenant(), tenant()];
    const [mine, theirs] = [await template(r), await template(s)];
    await configure(mine, { enable_inbound: true });
    expect((await planOf(r, null, theirs))?.template_id).toBe(mine);
    expect((await planOf(r, null, "0b1f6a44-6d0e-4f6c-9a52-5d1b7a1b8a10"))?.template_id).toBe(mine);
    expect(await planOf(null, null)).toBeNull();
    expect(await planOf(null, null, theirs)).toMatchObject({ template_id: theirs, configuration: null });
    const may = async (template_id: string) =>
      (await stage.bus.call("config.mayTakeCalls", { reseller_id: r, merchant_id: null, template_id })).may;
    expect([await may(mine), await may(theirs)]).toEqual([true, false]);
  });
});

describe("the webhook of inbound leads", () => {
  test("is checked like any webhook, kept and cleared", async () => {
    const r = tenant();
    const made = await configure(await template(r), { inbound_webhook_url: "https://shop.example/calls" });
    expect([made.inbound_webhook_url, addresses]).toEqual([
      "https://shop.example/calls",
      ["https://shop.example/calls"],
    ]);
    const change = (inbound_webhook_url: string | null) =>
      stage.bus.call("config.updateConfiguration", {
        by: asAdmin,
        config_id: made.id,
        configuration: { inbound_webhook_url },
      });
    expect(await change("http://shop.example/calls").catch(codeOf)).toBe("WEBHOOK_ADDRESS_REFUSED");
    expect(((await change(null)) as { inbound_webhook_url: string | null }).inbound_webhook_url).toBeNull();
    expect(await configure(await template(r), { inbound_webhook_url: "ftp://x" }).catch(codeOf)).toBe(
      "WEBHOOK_ADDRESS_REFUSED",
    );
  });
});
