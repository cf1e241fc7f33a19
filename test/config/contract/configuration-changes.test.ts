import { MongoClient } from "mongodb";
import config from "../../../services/config/config.service.ts";
import { service, type EventOf, type ParamsOf } from "../../../shared/bus.ts";
import type { ConfigurationInput, ConfigurationPatch } from "../../../shared/contracts/records/configuration.ts";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";
import { codeOf, type FailureData } from "../../../shared/errors.ts";
import {
  asAdmin,
  asMerchant,
  asReseller,
  asUser,
  setStage,
  standIn,
  until,
  type Stage,
} from "../../../local/harness/stage.ts";

type By = ParamsOf<"config.createTemplate">["by"];
const audited: ParamsOf<"auth.record">[] = [];
const unfinished = new Set<string>();
const asked: ParamsOf<"leads.unfinished">[] = [];
const others = [
  standIn("merchants", {
    lookup: ({ reseller_id, merchant_id }) => ({
      reseller: reseller_id.startsWith("rs-"),
      merchant: merchant_id?.startsWith(`${reseller_id}.`) ?? false,
    }),
  }),
  standIn("auth", {
    record: (entry) => {
      audited.push(entry);
      return {};
    },
  }),
  standIn("leads", {
    unfinished: (which) => {
      asked.push(which);
      return { any: unfinished.has(which.template_id ?? "") };
    },
  }),
];
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
let client: MongoClient;
beforeAll(async () => {
  stage = await setStage({ services: [config, ...others, listener], env: { DEFAULT_TIMEZONE: "Europe/Paris" } });
  client = await MongoClient.connect(stage.uri);
});
afterAll(async () => {
  await client.close();
  await stage.stop();
});
beforeEach(() => {
  changed.length = 0;
  audited.length = 0;
  asked.length = 0;
});

let serial = 0;
const tenant = (): string => `rs-${serial++}`;
const UNKNOWN = "0b1f6a44-6d0e-4f6c-9a52-5d1b7a1b8a10";
const settings = {
  initial_offset: 30,
  retry_offset: 60,
  call_start_time: "09:00",
  call_end_time: "17:00",
  max_retry: 2,
  calling_provider: "PROVIDER_ONE",
} as const;
const save = (reseller_id: string, over: Partial<TemplateInput> = {}) =>
  stage.bus.call("config.createTemplate", {
    by: asAdmin,
    template: {
      reseller_id,
      name: "reminder",
      initial_node: "a",
      nodes: [{ name: "a", say: "Hello {{name}}." }],
      variables: ["name"],
      ...over,
    },
  });
const configure = (template_id: string, over: Partial<ConfigurationInput> = {}) =>
  stage.bus.call("config.createConfiguration", { by: asAdmin, configuration: { template_id, ...settings, ...over } });
const change = (by: By, config_id: string, configuration: ConfigurationPatch) =>
  stage.bus.call("config.updateConfiguration", { by, config_id, configuration });
const failing = async (call: Promise<unknown>): Promise<{ code: string; paths: string[] }> => {
  const error: unknown = await call.then(
    () => null,
    (e: unknown) => e,
  );
  const data = (error as { data?: FailureData | { path: string }[] } | null)?.data;
  const faults = Array.isArray(data) ? data : (data?.errors ?? []);
  return { code: error === null ? "taken" : codeOf(error), paths: faults.map((e) => e.path) };
};

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

  test("others may not write it, and do not find it", async () => {
    const { r, id } = await made();
    for (const by of [asReseller(tenant()), asMerchant(r, `${r}.n`)]) {
      expect((await failing(change(by, id, { max_retry: 1 }))).code).toBe("FORBIDDEN");
      expect((await failing(stage.bus.call("config.deleteConfiguration", { by, config_id: id }))).code).toBe(
        "FORBIDDEN",
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
