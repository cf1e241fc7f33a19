import { jest } from "@jest/globals";
import { pino } from "pino";
import {
  endpointDeliverySchema,
  type DeliveryDoc,
  type EndpointPart,
} from "../../../services/webhook/deliveries/deliveries.model.ts";
import { chainOrder, type ChainOrder } from "../../../services/webhook/endpoints/chain-order.ts";
import {
  endpointDeliveries,
  type EndpointDeliveries,
} from "../../../services/webhook/endpoints/endpoint-deliveries.repository.ts";
import { endpointsRepository } from "../../../services/webhook/endpoints/endpoints.repository.ts";
import { endpointSchema } from "../../../services/webhook/endpoints/endpoints.model.ts";
import { HostSlots, MAX_PER_RECEIVER } from "../../../services/webhook/hosts/host-slots.ts";
import { chainOf } from "../../../services/webhook/rules/chain-admission.ts";
import { newDelivery } from "../../../services/webhook/rules/delivery-state-machine.ts";
import { receiverOf } from "../../../services/webhook/rules/receiver.ts";
import { openStore } from "../../../shared/database/mongo.ts";
import { randomIds } from "../../../shared/ids.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { freshDatabase } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const clock = virtualClock();
const receiver = { host: "shop.example", reseller_id: "r", merchant_id: null };
let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: ReturnType<typeof openStore>;
let deliveries: EndpointDeliveries;
let hosts: HostSlots;
let order: ChainOrder;
let endpoint_id: string;
let open: boolean;
let nudges: number;
let pause: (paused: boolean) => Promise<unknown>;

beforeEach(async () => {
  database = await freshDatabase();
  store = openStore(database.uri);
  await store.open();
  deliveries = endpointDeliveries(store.model<DeliveryDoc>("endpoint_deliveries", endpointDeliverySchema));
  const env = readEnv({ MONGODB_URI: database.uri });
  const endpoints = endpointsRepository(store.model("webhook_endpoints", endpointSchema), {
    ids: randomIds,
    clock,
    env,
  });
  const made = await endpoints.add({
    _id: randomIds.uuid(),
    reseller_id: "r",
    merchant_id: null,
    url: "https://shop.example/hook",
    types: [],
    paused: false,
    after_position: 0,
    created_at: clock.now(),
    updated_at: clock.now(),
  });
  endpoint_id = made?.endpoint._id ?? "";
  pause = (paused) =>
    endpoints.change({ reseller_id: null, merchant_id: null }, endpoint_id, { paused, updated_at: clock.now() });
  hosts = new HostSlots(clock, () => 0.5);
  [open, nudges] = [true, 0];
  order = chainOrder({
    clock,
    ids: randomIds,
    log: pino({ level: "silent" }),
    endpoints,
    deliveries,
    hosts,
    isOpen: () => open,
    onWaiting: () => nudges++,
  });
});
afterEach(async () => {
  await store.close();
  await database.drop();
});

/** A delivery of the lead's event with this number. */
async function written(seq: number, over: Partial<DeliveryDoc> = {}, part: Partial<EndpointPart> = {}) {
  const endpoint = { id: endpoint_id, event_id: `l.${seq}`, type: "lead.queued", seq, lost: [], ...part };
  const doc: DeliveryDoc = {
    _id: `msg_${seq}`,
    lead_id: "l",
    ...receiver,
    url: "https://shop.example/hook",
    body: `{"seq":${seq}}`,
    ...newDelivery(null, clock.now()),
    endpoint: { ...endpoint, chain: chainOf(endpoint_id, "l") },
    ...over,
  };
  await deliveries.insert([doc]);
  return doc;
}
const over = { state: "delivered" } as const;

test("the delivery behind one that arrived is taken at once, in its order and once, with its bytes", async () => {
  const first = await written(1, over);
  await written(3);
  await written(2);
  const [one, other] = [await order.onEnded(first, true), await order.onEnded(first, true)];
  expect(one?.delivery).toMatchObject({ _id: "msg_2", body: '{"seq":2}', try_count: 1, state: "pending" });
  expect(one?.delivery.next_try_at?.getTime()).toBeGreaterThan(clock.now().getTime());
  // the same one again would be the sender's next try, not a second at the same time
  expect(other === null || other.delivery.try_count === 2).toBe(true);
  one?.slot.release();
  other?.slot.release();
});

test.each<[string, () => unknown]>([
  ["the one before it was not delivered", () => written(2)],
  ["its endpoint is paused", async () => [await written(2), await pause(true)]],
  ["one between them was given up", async () => [await written(2, { state: "exhausted" }), await written(3)]],
  ["it is held", () => written(2, {}, { held: true })],
  ["the process shuts down", async () => [await written(2), (open = false)]],
  [
    "its receiver has no slot free",
    async () => {
      await written(2);
      for (let i = 0; i < MAX_PER_RECEIVER; i++) hosts.acquire(receiver);
    },
  ],
  [
    "others of its receiver wait",
    async () => {
      await written(2);
      hosts.enqueue(receiver);
    },
  ],
])("it is left to the pass where %s", async (why, prepare) => {
  const first = await written(1, over);
  await prepare();
  expect(await order.onEnded(first, why !== "the one before it was not delivered")).toBeNull();
  expect(nudges).toBe(why === "it is held" ? 0 : 1);
});

test("where nothing is behind it, one read says so, and what comes then is sent by whoever writes it down", async () => {
  const first = await written(1, over);
  const released = jest.spyOn(deliveries, "releaseNext");
  expect(await order.onEnded(first, true)).toBeNull();
  expect(released).not.toHaveBeenCalled();
  const second = await written(2);
  expect(await order.admit([second])).toEqual([second]);
});

test("where nothing is behind it, no slot stays taken", async () => {
  const first = await written(1, over);
  for (let i = 0; i < 2 * MAX_PER_RECEIVER; i++) expect(await order.onEnded(first, true)).toBeNull();
  expect(hosts.acquire(receiverOf(first))).not.toBeNull();
  expect(nudges).toBe(0);
});

test("what waits behind another one is not read again before that is tried next, however much waits: what may be sent stands before it", async () => {
  const lease = new Date(clock.now().getTime() + 20_000);
  await written(1, { next_try_at: lease, try_count: 1 });
  const waiting = [await written(2), await written(3)];
  expect(await order.admit(waiting)).toEqual([]);
  await clock.advance(5000);
  const other = await written(1, { _id: "msg_other" }, { event_id: "m.1" });
  await deliveries.write([
    { filter: { _id: "msg_other" }, update: { $set: { "endpoint.chain": chainOf(endpoint_id, "m") } } },
  ]);
  const due = () => deliveries.dueOf(receiver, clock.now(), 10);
  expect((await due()).map(({ _id }) => _id)).toEqual([other._id]);
  // whoever sent the first one died: it is due again, and those behind it look where it is
  await clock.advance(15_000);
  expect((await due()).map(({ _id }) => _id).sort()).toEqual(["msg_1", "msg_2", "msg_3", "msg_other"]);
});
