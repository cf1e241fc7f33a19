import mongoose from "mongoose";
import { asAdmin } from "../../../local/harness/stage.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { configCalls, failing, tenant, UNKNOWN } from "../fixtures/config-calls.ts";
import { configStage } from "../fixtures/config-stage.ts";

const stage = configStage({ alone: true });
const { saveStrict: save, configure } = configCalls(stage);

const push = (over: Partial<ParamsOf<"config.resolveForPush">> & { template_id: string; reseller_id: string }) =>
  stage.bus.call("config.resolveForPush", {
    payload: { name: "Ann", customer_mobile_number: "+14155550100" },
    ...over,
  });
describe("resolveForPush", () => {
  test("gives what a lead needs; initial_offset only where there is a configuration", async () => {
    const r = tenant();
    const { id } = await save({ reseller_id: r, merchant_id: `${r}.m`, limits: { max_age_seconds: 3600 } });
    const expected = {
      template_id: id,
      version: 1,
      name: "reminder",
      reseller_id: r,
      merchant_id: `${r}.m`,
      initial_offset: null,
      max_age_seconds: 3600,
    };
    expect(await push({ template_id: id, reseller_id: r, merchant_id: `${r}.m` })).toEqual(expected);
    await configure(id);
    expect(await push({ template_id: id.toUpperCase(), reseller_id: r, merchant_id: `${r}.m` })).toEqual({
      ...expected,
      initial_offset: 30,
    });
  });

  test("tells unknown from elsewhere from a missing merchant", async () => {
    const r = tenant();
    const mine = await save({ reseller_id: r, merchant_id: `${r}.m` });
    const whole = await save({ reseller_id: r });
    const off = await save({ reseller_id: r, is_active: false });
    const answer = (template_id: string, reseller_id: string, merchant_id?: string) =>
      failing(push({ template_id, reseller_id, ...(merchant_id ? { merchant_id } : {}) }));
    expect(await answer("reminder", r)).toEqual({ code: "TEMPLATE_UNKNOWN", paths: ["template_id"] });
    expect((await answer(UNKNOWN, r)).code).toBe("TEMPLATE_UNKNOWN");
    expect((await answer(mine.id, tenant(), `${r}.m`)).code).toBe("TEMPLATE_NOT_FOUND");
    expect((await answer(mine.id, r, `${r}.n`)).code).toBe("TEMPLATE_NOT_FOUND");
    expect(await answer(mine.id, r)).toEqual({ code: "VALIDATION_FAILED", paths: ["merchant_id"] });
    expect((await answer(whole.id, r)).code).toBe("taken");
    expect((await answer(whole.id, r, `${r}.n`)).code).toBe("taken");
    expect((await answer(whole.id, r, "rs-other.m")).code).toBe("TEMPLATE_NOT_FOUND");
    expect((await answer(off.id, r)).code).toBe("TEMPLATE_INACTIVE");
  });

  test("a payload that does not fit is refused with every path", async () => {
    const r = tenant();
    const { id } = await save({ reseller_id: r });
    expect(await failing(push({ template_id: id, reseller_id: r, payload: { name: 1, colour: "red" } }))).toEqual({
      code: "PAYLOAD_INVALID",
      paths: ["payload.colour", "payload.name"],
    });
  });

  test("two templates whose schemas share an id do not see each other", async () => {
    const r = tenant();
    const schema = (type: string) => ({
      $id: "https://example.com/same",
      type: "object",
      properties: { name: {}, v: { $ref: "#/$defs/v" } },
      $defs: { v: { type } },
    });
    const text = await save({ reseller_id: r, payload_schema: schema("string") });
    const number = await save({ reseller_id: r, payload_schema: schema("number") });
    expect((await failing(push({ template_id: text.id, reseller_id: r, payload: { v: "x" } }))).code).toBe("taken");
    expect(await failing(push({ template_id: number.id, reseller_id: r, payload: { v: "x" } }))).toEqual({
      code: "PAYLOAD_INVALID",
      paths: ["payload.v"],
    });
  });
});

describe("plans", () => {
  test("come in the order asked, each once, without unknown ids; a batch is one query per collection", async () => {
    const r = tenant();
    const one = await save({ reseller_id: r, limits: { max_call_seconds: 60 }, retry_on: ["busy"] });
    const two = await save({ reseller_id: r, is_active: false });
    const record = await configure(one.id);
    const queries: string[] = [];
    mongoose.set("debug", (collection: string, method: string) => {
      queries.push(`${collection}.${method}`);
    });
    const { plans } = await stage.bus
      .call("config.plans", { template_ids: [two.id, UNKNOWN, one.id, two.id] })
      .finally(() => mongoose.set("debug", false));
    expect(plans).toEqual([
      {
        template_id: two.id,
        version: 1,
        is_active: false,
        max_age_seconds: 604_800,
        max_call_seconds: 600,
        retry_on: null,
        configuration: null,
      },
      {
        template_id: one.id,
        version: 1,
        is_active: true,
        max_age_seconds: 604_800,
        max_call_seconds: 60,
        retry_on: ["busy"],
        configuration: record,
      },
    ]);
    expect(queries.sort()).toEqual(["configurations.find", "templates.find"]);
  });

  test("those who say what they know get what has changed, as much of it as a message takes", async () => {
    const r = tenant();
    const check = { name: "check", enabled: false, body: "b".repeat(30_000) };
    const ids: string[] = [];
    for (let i = 0; i < 30; i++) {
      const { id } = await save({ reseller_id: r });
      await configure(id, { pre_checks: [check] });
      ids.push(id);
    }
    const ask = (template_ids: string[], known: { template_id: string; stamp: string }[]) =>
      stage.bus.call("config.plans", { template_ids, known });
    const known: { template_id: string; stamp: string }[] = [];
    for (let rest = ids; rest.length > 0;) {
      const answer = await ask(rest, []);
      expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(512 * 1024);
      expect(answer.plans.map((p) => p.template_id)).toEqual(rest.slice(0, answer.read));
      known.push(...answer.plans.map(({ template_id, stamp = "" }) => ({ template_id, stamp })));
      rest = rest.slice(answer.read);
    }
    expect(await ask(ids, known)).toEqual({ plans: [], unchanged: ids, read: 30 });
    const [first = "", second = ""] = ids;
    const [configuration] = (await stage.bus.call("config.plans", { template_ids: [first] })).plans;
    await stage.bus.call("config.updateConfiguration", {
      by: asAdmin,
      config_id: configuration?.configuration?.id ?? "",
      configuration: { max_retry: 3 },
    });
    await stage.bus.call("config.updateTemplate", { by: asAdmin, id: second, template: { is_active: false } });
    const answer = await ask([...ids, UNKNOWN], known);
    expect(answer).toMatchObject({
      plans: [
        { template_id: first, configuration: { max_retry: 3 } },
        { template_id: second, is_active: false },
      ],
      unchanged: ids.slice(2),
      read: 31,
    });
  });

  test("none for none", async () => {
    expect(await stage.bus.call("config.plans", { template_ids: [] })).toEqual({ plans: [] });
  });

  test("an override is merged over the configuration, and lifts no protection", async () => {
    const { id } = await save({ reseller_id: tenant() });
    expect(await stage.bus.call("config.overridden", { template_id: id, override: { max_retry: 0 } })).toEqual({
      configuration: null,
    });
    const record = await configure(id);
    const { configuration } = await stage.bus.call("config.overridden", {
      template_id: id,
      override: { max_retry: 0, call_start_time: "10:00", enforce_blacklist: false, id: "x" },
    });
    expect(configuration).toEqual({ ...record, max_retry: 0, call_start_time: "10:00" });
    expect((await stage.bus.call("config.plans", { template_ids: [id] })).plans[0]?.configuration).toEqual(record);
  });
});
