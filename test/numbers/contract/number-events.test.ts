import { randomUUID } from "node:crypto";
import { MongoClient, type Db } from "mongodb";
import leads from "../../../services/leads/leads.service.ts";
import numbers from "../../../services/numbers/numbers.service.ts";
import type { LogSheet } from "../../../services/leads/events/event-log.model.ts";
import { EVENTS } from "../../../shared/contracts/events/catalogue.ts";
import { CloudEvent } from "../../../shared/contracts/events/event-type.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { issueChecker } from "../../../shared/validator.ts";
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
import { toldSubjects } from "../../fixtures/told-subjects.ts";
import { US } from "../fixtures/numbers-service.ts";

const [R, M, OTHER, OTHERS] = ["reseller-1", "merchant-1", "reseller-2", "merchant-2"];
const bus = { url: "Fake", namespace: `number-events-${randomUUID()}` };
/** The owner of the numbers, and whoever takes its events, each a node with a database of its own: what goes between them is JSON. */
let owner: Stage;
let taker: Stage;
const clients: MongoClient[] = [];
let [ofOwner, ofTaker]: Db[] = [];

const playing = [
  standIn("merchants", { lookup: () => ({ reseller: true, merchant: true }) }),
  standIn("dialer", { holdsNumber: () => ({ held: true }) }),
  standIn("auth", { record: () => ({}) }),
];
/** The nodes stop together, and would stay for calls that another one leads. */
const QUICK_END = { SHUTDOWN_GRACE_SECONDS: "1" };
const startOwner = (env: Record<string, string>): Promise<Stage> =>
  setStage({ services: [numbers, ...playing], bus, env: { ...QUICK_END, NUMBERS_ADDED_BY: "reseller", ...env } });
const started: Stage[] = [];
beforeAll(async () => {
  owner = await startOwner({});
  taker = await setStage({ services: [leads], bus, env: QUICK_END });
  started.push(owner, taker);
  for (const { uri } of started) clients.push(await MongoClient.connect(uri));
  [ofOwner, ofTaker] = clients.map((client) => client.db());
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await Promise.all(started.map((stage) => stage.stop()));
});

interface Stored {
  _id: string;
  event_seq?: number;
  outbox?: unknown[];
  outbox_at?: Date;
  removed: string | null;
}
const storedNumber = (_id: string) => ofOwner!.collection<Stored>("numbers").findOne({ _id });
const add = (by: By, over: Partial<ParamsOf<"numbers.create">> = {}) =>
  owner.bus.call("numbers.create", { by, phone_number: US(), provider: "PROVIDER_ONE", ...over });
const change = (by: By, number_id: string, number: ParamsOf<"numbers.update">["number"]) =>
  owner.bus.call("numbers.update", { by, number_id, number });
const { read, told: toldOf } = toldSubjects(() => owner);
/** Its events that the asker sees, once so many are in the log. */
const eventsOf = async (id: string, count: number, by: By = asAdmin): Promise<CloudEvent[]> => {
  const all = await toldOf(`number:${id}`, count);
  return by === asAdmin ? all : read(by, `number:${id}`);
};
const told = (events: readonly CloudEvent[]) =>
  events.map(({ seq, reseller = null, merchant = null, data }) => [
    seq,
    data["change"],
    reseller,
    merchant,
    data["fields"],
  ]);

test("what becomes of a number is told once, in order, as the catalogue says, and its phone number is masked", async () => {
  const by = asReseller(R!);
  const { id, phone_number } = await add(by);
  await change(by, id, { max_concurrent_calls: 3, channel: "voice" });
  await change(by, id, { max_concurrent_calls: 3, status: "AVAILABLE", channel: "voice" });
  await change(by, id, { status: "DISABLED" });
  await owner.bus.call("numbers.remove", { by, number_id: id });
  const events = await eventsOf(id, 4);
  expect(told(events)).toEqual([
    [1, "created", R, null, []],
    [2, "updated", R, null, ["max_concurrent_calls"]],
    [3, "updated", R, null, ["status"]],
    [4, "removed", R, null, []],
  ]);
  for (const event of events) {
    expect(issueChecker(CloudEvent)(event)).toEqual([]);
    expect(issueChecker(EVENTS["number.changed"].data)(event.data)).toEqual([]);
    expect(event).toMatchObject({
      id: `number:${id}.${event.seq}`,
      source: "/callagent/numbers",
      type: "number.changed",
    });
  }
  expect(JSON.stringify(events)).not.toContain(phone_number);
  await until("the number to be gone", async () => ((await storedNumber(id)) === null ? true : undefined));
  expect((await add(by, { phone_number })).phone_number).toBe(phone_number);
});

test("a number that changes hands is told to whom it leaves and to whom it comes, and each sees its own events alone", async () => {
  const { id } = await add(asAdmin);
  await change(asAdmin, id, { reseller_id: R! });
  await change(asReseller(R!), id, { merchant_id: M!, channel: "sms" });
  await change(asAdmin, id, { reseller_id: OTHER!, merchant_id: OTHERS! });
  const all = await eventsOf(id, 7);
  const fields = ["reseller_id"];
  expect(told(all)).toEqual([
    [1, "created", null, null, []],
    [2, "withdrawn", null, null, []],
    [3, "allotted", R, null, fields],
    [4, "withdrawn", R, null, []],
    [5, "allotted", R, M, ["channel", "merchant_id"]],
    [6, "withdrawn", R, M, []],
    [7, "allotted", OTHER, OTHERS, ["reseller_id", "merchant_id"]],
  ]);
  const seen = async (by: By) => (await eventsOf(id, 7, by)).map(({ seq }) => seq);
  expect(await Promise.all([asReseller(R!), asMerchant(R!, M!), asUser(R!, M!)].map(seen))).toEqual([
    [3, 4, 5, 6],
    [5, 6],
    [5, 6],
  ]);
  expect(
    await Promise.all(
      [asReseller(OTHER!), asMerchant(OTHER!, OTHERS!), asMerchant(R!, OTHERS!), asReseller("x")].map(seen),
    ),
  ).toEqual([[7], [7], [], []]);
});

test("changes of many at once are each told, without a gap, and what they write is what they tell", async () => {
  const by = asReseller(R!);
  const { id } = await add(by);
  const wanted = Array.from({ length: 8 }, (_, i) => i + 2);
  await Promise.all(wanted.map((max_concurrent_calls) => change(by, id, { max_concurrent_calls })));
  expect((await eventsOf(id, 9)).map(({ seq }) => seq)).toEqual([1, ...wanted]);
});

test("what was not handed over when its process died, or while nobody took it, is told when it can be, and none twice", async () => {
  const by = asReseller(R!);
  const { id } = await add(by);
  await eventsOf(id, 1);
  await taker.broker.stop();
  await change(by, id, { status: "DISABLED" });
  await owner.bus.call("numbers.remove", { by, number_id: id });
  const left = await storedNumber(id);
  expect([left?.removed, left?.event_seq, left?.outbox?.length]).toEqual([id, 3, 2]);
  // its writer dies as well, before somebody takes it; other processes come in their place
  await owner.broker.stop();
  started.push(
    await setStage({ services: [leads], bus, env: { ...QUICK_END, MONGODB_URI: taker.uri } }),
    await startOwner({ MONGODB_URI: owner.uri }),
  );
  expect(told(await eventsOf(id, 3)).map(([seq, what]) => [seq, what])).toEqual([
    [1, "created"],
    [2, "updated"],
    [3, "removed"],
  ]);
  await until("the number to be gone", async () => ((await storedNumber(id)) === null ? true : undefined));
});

test("events that are handed over again, in another order too, or when all of them were published, are passed over", async () => {
  const event = (seq: number) => ({
    seq,
    type: "number.changed",
    at: "2026-03-02T09:00:00.000Z",
    reseller_id: R!,
    merchant_id: null,
    template_id: null,
    data: { ...EVENTS["number.changed"].example },
  });
  const id = randomUUID();
  const hand = (...events: ReturnType<typeof event>[]) =>
    owner.bus.call("leads.takeEvents", { objects: [{ subject: `number:${id}`, events }] });
  await Promise.all([hand(event(1)), hand(event(1), event(2)), hand(event(1)), hand(event(1), event(2))]);
  await eventsOf(id, 2);
  // emptied, as it is a minute after the last event
  await ofTaker!.collection<Stored>("tenant_outboxes").deleteMany({ _id: `number:${id}` });
  await hand(event(1), event(2));
  await hand(event(2), event(3));
  await eventsOf(id, 3);
  const sheets = await ofTaker!
    .collection<LogSheet>("lead_events")
    .find({ lead_ids: `number:${id}` })
    .toArray();
  expect(sheets.flatMap(({ events }) => events.map(({ seq }) => seq))).toEqual([1, 2, 3]);
  await expect(
    owner.bus.call("leads.takeEvents", { objects: [{ subject: id, events: [event(1)] }] }),
  ).rejects.toMatchObject({ type: "VALIDATION_ERROR" });
});
