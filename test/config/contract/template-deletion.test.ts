import { asAdmin, asReseller } from "../../../local/harness/stage.ts";
import { configCalls, failing, tenant } from "../fixtures/config-calls.ts";
import { configStage } from "../fixtures/config-stage.ts";

const stage = configStage();
const { asked, audited, unfinished } = stage;
const { save, put, drop, read, configure } = configCalls(stage);

describe("deleting a template", () => {
  test("takes its configuration along; old leads still find their version", async () => {
    const r = tenant();
    const { id } = await save(r);
    const { id: config_id } = await configure(id);
    await put(asAdmin, id, { name: "two" });
    expect(await drop(asReseller(r), id)).toEqual({});
    expect(asked).toEqual([{ reseller_id: r, template_id: id }]);
    expect((await failing(read(asAdmin, id))).code).toBe("TEMPLATE_NOT_FOUND");
    expect((await failing(stage.bus.call("config.getConfiguration", { by: asAdmin, config_id }))).code).toBe(
      "CONFIGURATION_NOT_FOUND",
    );
    expect((await stage.bus.call("config.listTemplates", { by: asReseller(r) })).count).toBe(0);
    expect((await stage.bus.call("config.plans", { template_ids: [id] })).plans).toEqual([]);
    expect(
      (await failing(stage.bus.call("config.resolveForPush", { template_id: id, reseller_id: r, payload: {} }))).code,
    ).toBe("TEMPLATE_UNKNOWN");
    expect((await stage.bus.call("config.templateVersion", { template_id: id, version: 1 })).name).toBe("reminder");
    expect(audited.at(-1)).toMatchObject({
      action: "template.deleted",
      subject: id,
      reseller_id: r,
      details: { version: 2, configuration_id: config_id },
    });
    expect((await failing(drop(asReseller(r), id))).code).toBe("TEMPLATE_NOT_FOUND");
  });

  test("is refused while it has unfinished leads, and nothing is lost", async () => {
    const r = tenant();
    const { id } = await save(r);
    const configuration = await configure(id);
    unfinished.add(id);
    expect((await failing(drop(asReseller(r), id))).code).toBe("RESOURCE_IN_USE");
    expect(await stage.bus.call("config.getConfiguration", { by: asReseller(r), config_id: configuration.id })).toEqual(
      configuration,
    );
    unfinished.delete(id);
    expect((await failing(drop(asReseller(r), id))).code).toBe("taken");
  });

  test("owns tells whether a reseller or merchant has any template", async () => {
    const r = tenant();
    const owns = async (merchant_id?: string) =>
      (await stage.bus.call("config.owns", { reseller_id: r, ...(merchant_id ? { merchant_id } : {}) })).any;
    expect(await owns()).toBe(false);
    const { id } = await save(r, { merchant_id: `${r}.m` });
    expect([await owns(), await owns(`${r}.m`), await owns(`${r}.n`)]).toEqual([true, true, false]);
    await drop(asAdmin, id);
    expect(await owns()).toBe(false);
  });
});
