import config from "../../../services/config/config.service.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { needing } from "../../fixtures/database-abilities.ts";
import { servedBy } from "../../fixtures/query-plan.ts";
import { asAdmin, asMerchant, asReseller, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";

type By = ParamsOf<"config.createTemplate">["by"];
const others = [
  standIn("merchants", { lookup: () => ({ reseller: true, merchant: true }) }),
  standIn("auth", { record: () => ({}) }),
];

let stage: Stage;
beforeAll(async () => {
  stage = await setStage({ services: [config, ...others] });
  // where there is next to nothing, looking at everything is as good as an index, and a planner knows it
  for (let i = 0; i < 60; i++) await save("rs-0", `other ${i}`);
});
afterAll(() => stage.stop());

const UNKNOWN = "0b1f6a44-6d0e-4f6c-9a52-5d1b7a1b8a10";
const save = (reseller_id: string, name: string) =>
  stage.bus.call("config.createTemplate", {
    by: asAdmin,
    template: {
      reseller_id,
      name,
      initial_node: "a",
      nodes: [{ name: "a", say: "Hello.", on_enter: [{ type: "end_call" }] }],
    },
  });

describe("lists", () => {
  test("templates by the beginning of their name, whatever characters it holds", async () => {
    const r = "rs-2";
    for (const name of ["Reminder A", "Reminder", "reminder", "Remind", "Rem.*", "Reminder\u{1F600}"])
      await save(r, name);
    const names = async (name: string) =>
      (await stage.bus.call("config.listTemplates", { by: asReseller(r), name })).templates.map((t) => t.name).sort();
    expect(await names("Reminder")).toEqual(["Reminder", "Reminder A", "Reminder\u{1F600}"]);
    expect(await names("Rem.*")).toEqual(["Rem.*"]);
    expect(await names("reminder")).toEqual(["reminder"]);
    expect(await names("x")).toEqual([]);
  });

  const byTime = (field: string) => ({ index: `${field}_1_created_at_-1__id_-1`, sorted: false });
  needing("plans", () => {
    test.each<[string, By, object, object]>([
      ["an admin's", asAdmin, {}, { index: "created_at_-1__id_-1", sorted: false }],
      ["a reseller's", asReseller("rs-1"), {}, byTime("reseller_id")],
      ["a merchant's", asMerchant("rs-1", "rs-1.m"), {}, byTime("reseller_id_1_merchant_id")],
      ["by merchant", asAdmin, { merchant_id: "rs-1.m" }, byTime("merchant_id")],
      ["by is_active", asAdmin, { is_active: false }, byTime("is_active")],
      ["by name", asAdmin, { name: "Rem" }, { index: "name_1", sorted: true }],
      ["a reseller's by name", asReseller("rs-1"), { name: "Rem" }, { index: "reseller_id_1_name_1", sorted: true }],
    ])("templates, %s: served by the index of this filter", async (_what, by, filter, served) => {
      expect(
        await servedBy(stage.uri, "templates", () => stage.bus.call("config.listTemplates", { by, ...filter })),
      ).toEqual(served);
    });
  });
  needing("plans", () => {
    test.each<[string, By, object, object]>([
      ["an admin's", asAdmin, {}, { index: "created_at_-1__id_-1", sorted: false }],
      ["by reseller", asAdmin, { reseller_id: "rs-1" }, byTime("reseller_id")],
      ["a merchant's", asMerchant("rs-1", "rs-1.m"), {}, byTime("reseller_id_1_merchant_id")],
      ["by merchant", asAdmin, { merchant_id: "rs-1.m" }, byTime("merchant_id")],
    ])("configurations, %s: served by the index of this filter", async (_what, by, filter, served) => {
      expect(
        await servedBy(stage.uri, "configurations", () =>
          stage.bus.call("config.listConfigurations", { by, ...filter }),
        ),
      ).toEqual(served);
    });
  });
  needing("plans", () => {
    test("configurations by template: the one there is is looked at", async () => {
      for (const by of [asAdmin, asReseller("rs-1")]) {
        const { index } = await servedBy(stage.uri, "configurations", () =>
          stage.bus.call("config.listConfigurations", { by, template_id: UNKNOWN }),
        );
        expect(index).toBe("one_of_a_template");
      }
    });
  });
  needing("plans", () => {
    test("versions of a template", async () => {
      const { id } = await save("rs-1", "reminder");
      expect(
        await servedBy(stage.uri, "template_versions", () =>
          stage.bus.call("config.listVersions", { by: asAdmin, id }),
        ),
      ).toEqual(byTime("template_id"));
    });
  });
});
