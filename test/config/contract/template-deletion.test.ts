import { MongoClient } from "mongodb";
import config from "../../../services/config/config.service.ts";
import { service, type EventOf, type ParamsOf } from "../../../shared/bus.ts";
import type { ConfigurationInput } from "../../../shared/contracts/records/configuration.ts";
import type { TemplateInput, TemplatePatch } from "../../../shared/contracts/records/template.ts";
import { codeOf, type FailureData } from "../../../shared/errors.ts";
import { asAdmin, asReseller, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";

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
const put = (by: By, id: string, template: TemplatePatch) =>
  stage.bus.call("config.updateTemplate", { by, id, template });
const drop = (by: By, id: string) => stage.bus.call("config.deleteTemplate", { by, id });
const read = (by: By, id: string) => stage.bus.call("config.getTemplate", { by, id });
const configure = (template_id: string, over: Partial<ConfigurationInput> = {}) =>
  stage.bus.call("config.createConfiguration", { by: asAdmin, configuration: { template_id, ...settings, ...over } });
const failing = async (call: Promise<unknown>): Promise<{ code: string; paths: string[] }> => {
  const error: unknown = await call.then(
    () => null,
    (e: unknown) => e,
  );
  const data = (error as { data?: FailureData | { path: string }[] } | null)?.data;
  const faults = Array.isArray(data) ? data : (data?.errors ?? []);
  return { code: error === null ? "taken" : codeOf(error), paths: faults.map((e) => e.path) };
};

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
