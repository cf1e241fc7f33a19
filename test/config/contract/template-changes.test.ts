import { MongoClient } from "mongodb";
import type { TemplatePatch } from "../../../shared/contracts/records/template.ts";
import { asAdmin, asMerchant, asReseller, asUser, until } from "../../../local/harness/stage.ts";
import { configCalls, failing, tenant, UNKNOWN, type By } from "../fixtures/config-calls.ts";
import { configStage } from "../fixtures/config-stage.ts";

const stage = configStage();
const { audited, changed } = stage;
const { save, put, drop, read, versions } = configCalls(stage);

describe("saving a template", () => {
  test("makes a new version of the merged whole; the old one stays as it was", async () => {
    const r = tenant();
    const first = await save(r, {
      merchant_id: `${r}.m`,
      greeting: "Hi.",
      limits: { max_call_seconds: 60, idle_seconds: 5 },
      listening: { endpointing_ms: 500, backchannels: ["go on"] },
      retry_on: ["busy"],
    });
    const second = await put(asMerchant(r, `${r}.m`), first.id.toUpperCase(), {
      name: "renamed",
      greeting: null,
      limits: { max_call_seconds: 90 },
      listening: { sensitivity: "low" },
      retry_on: null,
    });
    expect(second).toEqual({
      ...first,
      version: 2,
      name: "renamed",
      greeting: null,
      limits: { ...first.limits, max_call_seconds: 90 },
      listening: { ...first.listening, endpointing_ms: 500, backchannels: ["go on"], sensitivity: "low" },
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
      details: { version: 2, fields: ["name", "greeting", "limits", "listening", "retry_on"] },
    });
  });

  test("null gives a field its default back", async () => {
    const { id } = await save(tenant(), {
      voice: "anna",
      language: "de-DE",
      limits: { idle_seconds: 3 },
      listening: { interrupt_after_words: 3 },
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
      listening: null,
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
      listening: { interrupt_after_words: 1 },
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
    // fields that the contract does not name are passed over, so nothing is left
    ["another owner alone", { reseller_id: "rs-x", merchant_id: "rs-x.m" }, ["template"]],
    ["a version alone", { version: 9 }, ["template"]],
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
    const client = await MongoClient.connect(stage.uri);
    await client
      .db()
      .collection<{ _id: string }>("templates")
      .updateOne({ _id: first.id }, { $set: { version: 1, name: first.name } })
      .finally(() => client.close());
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
    ["another merchant", "TEMPLATE_NOT_FOUND", (r) => asMerchant(r, `${r}.n`)],
    ["another reseller", "TEMPLATE_NOT_FOUND", () => asReseller("rs-else")],
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
