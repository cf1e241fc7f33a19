import { randomUUID } from "node:crypto";
import { MongoClient } from "mongodb";
import config from "../../../services/config/config.service.ts";
import leads from "../../../services/leads/leads.service.ts";
import { EVENTS } from "../../../shared/contracts/events/catalogue.ts";
import { CloudEvent } from "../../../shared/contracts/events/event-type.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import { issueChecker } from "../../../shared/validator.ts";
import { asMerchant, asReseller, asUser, setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";
import { configCalls, failing } from "../fixtures/config-calls.ts";
import { toldSubjects } from "../../fixtures/told-subjects.ts";

const bus = { url: "Fake", namespace: `configuration-events-${randomUUID()}` };
/** The owner of configurations, and whoever takes their events, each a node with a database of its own: what goes between them is JSON. */
let owner: Stage;
let taker: Stage;
let client: MongoClient;
beforeAll(async () => {
  owner = await setStage({
    services: [
      config,
      standIn("auth", { record: () => ({}) }),
      standIn("merchants", { lookup: () => ({ reseller: true, merchant: true }) }),
    ],
    env: { SECRETS_KEY: Buffer.alloc(32, 7).toString("base64") },
    bus,
  });
  client = await MongoClient.connect(owner.uri);
  taker = await setStage({ services: [leads], bus });
});
afterAll(async () => {
  await client.close();
  await owner.stop();
  await taker.stop();
});

const { save, configure, change } = configCalls({
  get bus() {
    return owner.bus;
  },
});
const stored = (reseller_id: string): Promise<number> =>
  client.db().collection("configurations").countDocuments({ reseller_id });
const { read, told } = toldSubjects(() => taker);
const remove = (by: By, config_id: string) => owner.bus.call("config.deleteConfiguration", { by, config_id });
const world = () => {
  const r = randomUUID();
  return { r, m: `${r}.m`, by: asReseller(r) };
};

test("a configuration's changes are told once, in order, by the names of what differs and without a value, to whose it is", async () => {
  const { r, m, by } = world();
  const { id: template } = await save(r, { merchant_id: m });
  const { id } = await configure(template, { inbound_block_message: "Not to be told." });
  await change(by, id, { max_retry: 1, rate_limit_enabled: true, rate_limit_max_calls: 5 });
  await change(by, id, { max_retry: 1 });
  await change(by, id, { inbound_block_message: null });
  await remove(by, id);
  const events = await told(`configuration:${id}`, 4);
  expect(events.map(({ seq, data, reseller, merchant }) => [seq, data["change"], reseller, merchant])).toEqual(
    ["created", "updated", "updated", "removed"].map((done, i) => [i + 1, done, r, m]),
  );
  const [created, ...later] = events.map(({ data }) => data["fields"]);
  expect(created).toEqual(expect.arrayContaining(["inbound_block_message", "max_retry"]));
  expect(later).toEqual([["max_retry", "rate_limit_enabled", "rate_limit_max_calls"], ["inbound_block_message"], []]);
  for (const event of events) {
    expect(issueChecker(CloudEvent)(event)).toEqual([]);
    expect(issueChecker(EVENTS["configuration.changed"].data)(event.data)).toEqual([]);
    expect([event.source, event.template, event.data["template_id"]]).toEqual([
      "/callagent/configurations",
      template,
      template,
    ]);
  }
  expect(JSON.stringify(events)).not.toContain("Not to be told.");
  const other = world();
  const seen = await Promise.all(
    [by, asMerchant(r, m), asUser(r, m), asMerchant(r, `${r}.n`), other.by, asMerchant(other.r, other.m)].map(
      async (asker) => (await read(asker, `configuration:${id}`)).length,
    ),
  );
  expect(seen).toEqual([4, 4, 4, 0, 0, 0]);
});

test("a removed configuration is found by nobody while its last event waits, and its template may have another at once", async () => {
  const { r, by } = world();
  const { id: template } = await save(r);
  await taker.stop();
  const { id } = await configure(template);
  await remove(by, id);
  const answers = await Promise.all(
    [
      owner.bus.call("config.getConfiguration", { by, config_id: id }),
      change(by, id, { max_retry: 1 }),
      remove(by, id),
    ].map(failing),
  );
  expect(answers.map(({ code }) => code)).toEqual(Array.from({ length: 3 }, () => "CONFIGURATION_NOT_FOUND"));
  const next = await configure(template);
  const listed = await owner.bus.call("config.listConfigurations", { by });
  expect(listed.configurations.map((c) => c.id)).toEqual([next.id]);
  expect((await owner.bus.call("config.plans", { template_ids: [template] })).plans).toHaveLength(1);
  expect(await stored(r)).toBe(2);

  taker = await setStage({ services: [leads], bus });
  // a later change has it look at once
  await change(by, next.id, { max_retry: 1 });
  expect((await told(`configuration:${id}`, 2)).map(({ data }) => data["change"])).toEqual(["created", "removed"]);
  await until("the removed one to go", async () => ((await stored(r)) === 1 ? true : undefined));
});

test("the configuration of a template that is deleted is told as removed", async () => {
  const { r, by } = world();
  const { id: template } = await save(r);
  const { id } = await configure(template);
  await owner.bus.call("config.deleteTemplate", { by, id: template });
  expect((await told(`configuration:${id}`, 2)).map(({ data }) => data["change"])).toEqual(["created", "removed"]);
});
