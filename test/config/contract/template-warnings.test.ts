import { MongoClient } from "mongodb";
import { asAdmin } from "../../../local/harness/stage.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { configCalls, failing, tenant } from "../fixtures/config-calls.ts";
import { configStage } from "../fixtures/config-stage.ts";

const stage = configStage();
const { save, put, read, versions, configure, change } = configCalls(stage);

/** What was saved before dead ends and our own outcome words were refused. */
const OLD: Pick<TemplateRecord, "nodes"> = {
  nodes: [
    {
      name: "a",
      prompt: "Ask.",
      functions: [{ name: "f", description: "They can't.", outcome: "busy", next_node: "bye" }],
    },
    { name: "bye", say: "Goodbye.", on_exit: [{ type: "end_call" }] },
  ],
};

async function savedBefore(): Promise<TemplateRecord> {
  const record = await save(tenant());
  const client = await MongoClient.connect(stage.uri);
  await client
    .db()
    .collection("template_versions")
    .updateOne({ template_id: record.id }, { $set: { record: JSON.stringify({ ...record, ...OLD }) } })
    .finally(() => client.close());
  return record;
}

test("a template that would be refused now works on, and shows what is wrong with it", async () => {
  const { id, reseller_id } = await savedBefore();
  const paths = ["nodes.1", "nodes.0.functions.0.outcome"];
  expect((await read(asAdmin, id)).warnings?.map((w) => w.path)).toEqual(paths);
  const { templates } = await stage.bus.call("config.listTemplates", { by: asAdmin, reseller_id });
  expect(templates.map((t) => t.warnings?.map((w) => w.path))).toEqual([paths]);
  // it is switched, pushed to and led as before
  expect((await put(asAdmin, id, { is_active: false })).warnings?.map((w) => w.path)).toEqual(paths);
  expect(await put(asAdmin, id, { is_active: true })).toMatchObject({ version: 1, is_active: true });
  expect(
    await stage.bus.call("config.resolveForPush", { template_id: id, reseller_id, payload: { name: "Ada" } }),
  ).toMatchObject({ template_id: id });
  expect(await stage.bus.call("config.templateVersion", { template_id: id, version: 1 })).toMatchObject(OLD);
  expect((await stage.bus.call("config.plans", { template_ids: [id] })).plans).toHaveLength(1);
});

test("a change that leaves it faulty is refused with the reason; one that mends it is saved, without warnings", async () => {
  const { id } = await savedBefore();
  expect(await failing(put(asAdmin, id, { greeting: "Hi." }))).toEqual({
    code: "TEMPLATE_INVALID",
    paths: ["nodes.1", "nodes.0.functions.0.outcome"],
  });
  const mended = await put(asAdmin, id, {
    nodes: [{ name: "a", say: "Goodbye.", on_enter: [{ type: "end_call" }] }],
    greeting: "Hi.",
  });
  expect(mended).toMatchObject({ version: 2, greeting: "Hi." });
  expect("warnings" in mended).toBe(false);
  expect((await versions(asAdmin, id)).versions.map((v) => v.version)).toEqual([2, 1]);
});

test("what goes wrong only in a call is said of the template, of its configuration, and of a door to it", async () => {
  const transfer = { name: "agent", description: "A person.", action: "transfer" as const, transfer_to: "{{desk}}" };
  const { id, warnings } = await save(tenant(), {
    variables: ["desk"],
    payload_schema: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
    nodes: [{ name: "a", prompt: "Ask.", functions: [transfer] }],
    initial_node: "a",
  });
  const at = ["nodes.0.functions.0.transfer_to"];
  expect(warnings?.map((w) => w.path)).toEqual(at);
  const made = await configure(id, { enable_inbound: true });
  expect(made.warnings?.map((w) => w.path)).toEqual(["transfer_numbers", "enable_inbound"]);
  const door = await stage.bus.call("config.createDoor", {
    by: asAdmin,
    door: { template_id: id, origins: ["https://shop.example"] },
  });
  expect(door.warnings?.map((w) => w.path)).toEqual(["template_id"]);
  expect((await read(asAdmin, id)).warnings?.map((w) => w.path)).toEqual(at);
  await change(asAdmin, made.id, { transfer_numbers: ["+14155550100"], enable_inbound: false });
  const { configurations } = await stage.bus.call("config.listConfigurations", { by: asAdmin, template_id: id });
  expect([(await read(asAdmin, id)).warnings, configurations.map((c) => c.warnings)]).toEqual([undefined, [undefined]]);
});
