import { MongoClient } from "mongodb";
import config from "../../../services/config/config.service.ts";
import { service, type EventOf, type ParamsOf } from "../../../shared/bus.ts";
import type { TemplateInput, TemplatePatch } from "../../../shared/contracts/records/template.ts";
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
const versions = (by: By, id: string, page: { limit?: number; cursor?: string } = {}) =>
  stage.bus.call("config.listVersions", { by, id, ...page });
const failing = async (call: Promise<unknown>): Promise<{ code: string; paths: string[] }> => {
  const error: unknown = await call.then(
    () => null,
    (e: unknown) => e,
  );
  const data = (error as { data?: FailureData | { path: string }[] } | null)?.data;
  const faults = Array.isArray(data) ? data : (data?.errors ?? []);
  return { code: error === null ? "taken" : codeOf(error), paths: faults.map((e) => e.path) };
};

describe("saving a template", () => {
  test("makes a new version of the merged whole; the old one stays as it was", async () => {
    const r = tenant();
    const first = await save(r, {
      merchant_id: `${r}.m`,
      greeting: "Hi.",
      limits: { max_call_seconds: 60, idle_seconds: 5 },
      retry_on: ["busy"],
    });
    const second = await put(asMerchant(r, `${r}.m`), first.id.toUpperCase(), {
      name: "renamed",
      greeting: null,
      limits: { max_call_seconds: 90 },
      retry_on: null,
    });
    expect(second).toEqual({
      ...first,
      version: 2,
      name: "renamed",
      greeting: null,
      limits: { ...first.limits, max_call_seconds: 90 },
      retry_on: null,
      updated_at: second.updated_at,
    });
    expect(second.updated_at > first.updated_at).toBe(true);
    expect(await read(asAdmin, first.id)).toEqual(second);
    for (const [version, record] of [
      [1, first],
      [2, second],
    ] as const)
      expect(await stage.bus.call("config.templateVersion", { template_id: first.id, version })).toEqual(record);
    const {
      plans: [plan],
    } = await stage.bus.call("config.plans", { template_ids: [first.id] });
    expect(plan).toMatchObject({ version: 2, max_call_seconds: 90, retry_on: null });
    await until("config.changed", () => changed.find((e) => e.template_id === first.id));
    expect(audited.at(-1)).toMatchObject({
      action: "template.updated",
      subject: first.id,
      reseller_id: r,
      merchant_id: `${r}.m`,
      details: { version: 2, fields: ["name", "greeting", "limits", "retry_on"] },
    });
  });

  test("null gives a field its default back", async () => {
    const { id } = await save(tenant(), {
      voice: "anna",
      language: "de-DE",
      limits: { idle_seconds: 3 },
      payload_schema: { type: "object" },
      evaluators: [{ name: "polite", question: "Was the caller polite?" }],
      engine: "realtime",
      models: { chat: { endpoint: "eu" } },
      summary: true,
      evaluation_wait_seconds: 9,
    });
    const cleared = {
      voice: null,
      language: null,
      limits: null,
      payload_schema: null,
      evaluators: null,
      engine: null,
      models: null,
      summary: null,
      evaluation_wait_seconds: null,
    } as const;
    expect(await put(asAdmin, id, cleared)).toMatchObject({
      voice: null,
      language: "en-US",
      limits: { max_call_seconds: 600, idle_seconds: 8, max_age_seconds: 604_800 },
      payload_schema: null,
      evaluators: [],
      engine: null,
      models: {},
      summary: false,
      evaluation_wait_seconds: 2,
      variables: ["name"],
      version: 2,
    });
  });

  test("a change of is_active alone makes no version; with others it is part of one", async () => {
    const { id } = await save(tenant());
    const off = await put(asAdmin, id, { is_active: false });
    expect([off.version, off.is_active]).toEqual([1, false]);
    expect(
      (
        await failing(
          stage.bus.call("config.resolveForPush", { template_id: id, reseller_id: off.reseller_id, payload: {} }),
        )
      ).code,
    ).toBe("TEMPLATE_INACTIVE");
    const renamed = await put(asAdmin, id, { name: "x" });
    expect([renamed.version, renamed.is_active]).toEqual([2, false]);
    const on = await put(asAdmin, id, { name: "y", is_active: true });
    expect([on.version, on.is_active]).toEqual([3, true]);
    expect(await read(asAdmin, id)).toEqual(on);
  });

  test("the whole is judged: what the change breaks elsewhere is told, and nothing is saved", async () => {
    const { id } = await save(tenant());
    expect(await failing(put(asAdmin, id, { variables: [] }))).toEqual({
      code: "TEMPLATE_INVALID",
      paths: ["nodes.0.say"],
    });
    expect(await failing(put(asAdmin, id, { initial_node: "z" }))).toEqual({
      code: "TEMPLATE_INVALID",
      paths: ["initial_node"],
    });
    expect((await versions(asAdmin, id)).count).toBe(1);
  });

  test.each<[string, object, string[]]>([
    ["nothing", {}, ["template"]],
    ["another owner", { reseller_id: "rs-x", merchant_id: "rs-x.m" }, ["template.reseller_id", "template.merchant_id"]],
    ["a version", { version: 9 }, ["template.version"]],
    ["null for what must be", { name: null, is_active: null }, ["template.name", "template.is_active"]],
    [
      "wrong values",
      { greeting: "", limits: { idle_seconds: 0 } },
      ["template.greeting", "template.limits.idle_seconds"],
    ],
  ])("%s: refused with every fault", async (_what, patch, paths) => {
    const { id } = await save(tenant());
    const fault = await failing(put(asAdmin, id, patch as TemplatePatch));
    expect([fault.code, fault.paths.sort()]).toEqual(["VALIDATION_FAILED", [...paths].sort()]);
  });

  test("many at once: each is a version of its own and none is lost", async () => {
    const { id } = await save(tenant());
    const fields = ["greeting", "voice", "language", "name", "payload_schema", "evaluators"] as const;
    const value = {
      greeting: "Hi.",
      voice: "v",
      language: "fr-FR",
      name: "n",
      payload_schema: { type: "object" },
      evaluators: [{ name: "polite", question: "Was the caller polite?" }],
    };
    const saved = await Promise.all(fields.map((field) => put(asAdmin, id, { [field]: value[field] })));
    expect(saved.map((t) => t.version).sort()).toEqual([2, 3, 4, 5, 6, 7]);
    expect(await read(asAdmin, id)).toMatchObject({ ...value, version: 7 });
    expect((await versions(asAdmin, id)).versions.map((v) => v.version)).toEqual([7, 6, 5, 4, 3, 2, 1]);
  });

  test("a version whose writer died before it became current is taken over, not stumbled over", async () => {
    const first = await save(tenant());
    await put(asAdmin, first.id, { name: "two" });
    await client
      .db()
      .collection<{ _id: string }>("templates")
      .updateOne({ _id: first.id }, { $set: { version: 1, name: first.name } });
    expect((await versions(asAdmin, first.id)).count).toBe(1);
    expect(await put(asAdmin, first.id, { greeting: "Hi." })).toMatchObject({
      version: 3,
      name: "two",
      greeting: "Hi.",
    });
  });

  test.each<[string, "FORBIDDEN" | "taken" | "TEMPLATE_NOT_FOUND", (r: string) => By]>([
    ["its merchant", "taken", (r) => asMerchant(r, `${r}.m`)],
    ["its reseller", "taken", asReseller],
    ["another merchant", "FORBIDDEN", (r) => asMerchant(r, `${r}.n`)],
    ["another reseller", "FORBIDDEN", () => asReseller("rs-else")],
    ["a user", "FORBIDDEN", (r) => asUser(r, `${r}.m`)],
  ])("by %s: %s", async (_who, code, by) => {
    const r = tenant();
    const { id } = await save(r, { merchant_id: `${r}.m` });
    expect((await failing(put(by(r), id, { name: "x" }))).code).toBe(code);
    expect((await failing(drop(by(r), id))).code).toBe(code);
  });
  test("an unknown one is not found", async () => {
    const acts = [
      () => put(asReseller("rs-x"), UNKNOWN, { name: "x" }),
      () => drop(asAdmin, "x"),
      () => versions(asAdmin, UNKNOWN),
    ];
    for (const act of acts) expect((await failing(act())).code).toBe("TEMPLATE_NOT_FOUND");
  });
});

describe("versions", () => {
  test("come newest first in pages that stay right while others are saved; strangers see none", async () => {
    const r = tenant();
    const { id } = await save(r, { merchant_id: `${r}.m` });
    for (let i = 2; i <= 5; i++) await put(asAdmin, id, { name: `v${i}` });
    const first = await versions(asUser(r, `${r}.m`), id, { limit: 2 });
    await put(asAdmin, id, { name: "v6" });
    const second = await versions(asUser(r, `${r}.m`), id, { limit: 2, cursor: first.next_cursor! });
    const third = await versions(asUser(r, `${r}.m`), id, { limit: 2, cursor: second.next_cursor! });
    expect([first, second, third].map((p) => p.versions.map((v) => v.version))).toEqual([[5, 4], [3, 2], [1]]);
    expect([first.count, third.count, third.next_cursor]).toEqual([2, 1, null]);
    expect(first.versions[0]).toMatchObject({ id, name: "v5", reseller_id: r });
    for (const by of [asReseller(tenant()), asMerchant(r, `${r}.n`)])
      expect((await failing(versions(by, id))).code).toBe("TEMPLATE_NOT_FOUND");
  });

  test("a page of large ones ends before it is too large for the bus", async () => {
    const { id } = await save(tenant());
    const nodes = [
      {
        name: "a",
        say: "Hello.",
        functions: Array.from({ length: 30 }, (_, i) => ({
          name: `f${i}`,
          description: "d".repeat(2000),
          outcome: "x",
        })),
      },
    ];
    for (let i = 0; i < 16; i++) await put(asAdmin, id, { nodes, name: `v${i}` });
    const seen: number[] = [];
    let pages = 0;
    for (let cursor: string | null | undefined; cursor !== null; pages++) {
      const page: { versions: { version: number }[]; next_cursor: string | null } = await versions(asAdmin, id, {
        limit: 500,
        ...(cursor === undefined ? {} : { cursor }),
      });
      expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(1024 * 1024);
      seen.push(...page.versions.map((v) => v.version));
      cursor = page.next_cursor;
    }
    expect([pages, seen]).toEqual([2, Array.from({ length: 17 }, (_, i) => 17 - i)]);
  });
});
