import mongoose from "mongoose";
import config from "../../../services/config/config.service.ts";
import { service, type EventOf, type ParamsOf } from "../../../shared/bus.ts";
import { codeOf, type FailureData } from "../../../shared/errors.ts";
import type { ConfigurationInput } from "../../../shared/contracts/records/configuration.ts";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";
import { asAdmin, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";

const merchants = standIn("merchants", {
  lookup: ({ reseller_id, merchant_id }) => ({
    reseller: reseller_id.startsWith("rs-"),
    merchant: merchant_id?.startsWith(`${reseller_id}.`) ?? false,
  }),
});
const changed: EventOf<"config.changed">[] = [];
const listener = service(
  "conversation",
  () => ({
    actions: {
      turn: () => {
        throw new Error("not here");
      },
      prepareMany: () => ({ results: [] }),
      stop: () => ({}),
      salvage: () => ({ talk: null }),
    },
    events: {
      "config.changed": (e) => {
        changed.push(e);
      },
    },
  }),
  { listens: ["config.changed"] },
);

let stage: Stage;
beforeAll(async () => {
  stage = await setStage({ services: [config, merchants, listener], env: { DEFAULT_TIMEZONE: "Europe/Paris" } });
});
afterAll(() => stage.stop());

let serial = 0;
const tenant = (): string => `rs-${serial++}`;
const UNKNOWN = "0b1f6a44-6d0e-4f6c-9a52-5d1b7a1b8a10";
type By = ParamsOf<"config.createTemplate">["by"];

const input = (over: Partial<TemplateInput> & { reseller_id: string }): TemplateInput => ({
  name: "reminder",
  initial_node: "a",
  nodes: [{ name: "a", say: "Hello {{name}}." }],
  payload_schema: {
    type: "object",
    required: ["name"],
    properties: { name: { type: "string" } },
    additionalProperties: false,
  },
  ...over,
});
const save = (over: Partial<TemplateInput> & { reseller_id: string }, by: By = asAdmin) =>
  stage.bus.call("config.createTemplate", { by, template: input(over) });
const settings = {
  initial_offset: 30,
  retry_offset: 60,
  call_start_time: "09:00",
  call_end_time: "17:00",
  max_retry: 2,
  calling_provider: "PROVIDER_ONE",
} as const;
const configure = (template_id: string, over: Partial<ConfigurationInput> = {}, by: By = asAdmin) =>
  stage.bus.call("config.createConfiguration", { by, configuration: { template_id, ...settings, ...over } });
const push = (over: Partial<ParamsOf<"config.resolveForPush">> & { template_id: string; reseller_id: string }) =>
  stage.bus.call("config.resolveForPush", {
    payload: { name: "Ann", customer_mobile_number: "+14155550100" },
    ...over,
  });
const failing = async (call: Promise<unknown>): Promise<{ code: string; paths: string[] }> => {
  const error: unknown = await call.then(
    () => null,
    (e: unknown) => e,
  );
  const data = (error as { data?: FailureData } | null)?.data;
  return { code: error === null ? "taken" : codeOf(error), paths: (data?.errors ?? []).map((e) => e.path) };
};

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
    const { plans } = await stage.bus.call("config.plans", { template_ids: [two.id, UNKNOWN, one.id, two.id] });
    mongoose.set("debug", false);
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

  test("none for none", async () => {
    expect(await stage.bus.call("config.plans", { template_ids: [] })).toEqual({ plans: [] });
  });

  test("an override is merged over the configuration, and lifts nothing", async () => {
    const { id } = await save({ reseller_id: tenant() });
    expect(await stage.bus.call("config.overridden", { template_id: id, override: { max_retry: 0 } })).toEqual({
      configuration: null,
    });
    const record = await configure(id);
    const { configuration } = await stage.bus.call("config.overridden", {
      template_id: id,
      override: { max_retry: 0, call_start_time: "00:00", call_end_time: "00:00", enforce_blacklist: false, id: "x" },
    });
    expect(configuration).toEqual({ ...record, max_retry: 0, call_start_time: "00:00", call_end_time: "00:00" });
    expect((await stage.bus.call("config.plans", { template_ids: [id] })).plans[0]?.configuration).toEqual(record);
  });
});
