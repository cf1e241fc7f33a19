import { Webhook } from "standardwebhooks";
import webhook from "../../../services/webhook/webhook.service.ts";
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
import type { EventName } from "../../../shared/contracts/events/catalogue.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import { MAX_ENDPOINTS_OF_OWNER } from "../../../shared/contracts/webhooks/webhook-endpoint.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { startReceiver, type Receiver } from "../fixtures/receiver.ts";

const clock = virtualClock(new Date());
const R = "11111111-1111-4111-8111-111111111111";
const M = "22222222-2222-4222-8222-222222222222";
const merchant = asMerchant(R, M);
const TYPES: EventName[] = ["lead.finished"];
const logged: string[] = [];
const audited: { action: string; details: unknown }[] = [];
let receiver: Receiver;
let stage: Stage;

beforeAll(async () => {
  receiver = await startReceiver();
  stage = await setStage({
    clock,
    random: () => 0.5,
    env: { WEBHOOK_ALLOW_HTTP: "true", WEBHOOK_ALLOW_PRIVATE: "true", LOG_LEVEL: "debug" },
    onLog: (line) => logged.push(line),
    services: [
      webhook,
      standIn("leads", { eventsAfter: () => ({ events: [], next: 0, more: false, expired: false }) }),
      standIn("merchants", {
        lookup: ({ reseller_id, merchant_id }) => ({
          reseller: reseller_id !== "nobody",
          merchant: merchant_id !== "nobody",
        }),
      }),
      standIn("auth", {
        record: ({ action, details }) => {
          audited.push({ action, details });
          return {};
        },
      }),
    ],
  });
});
afterAll(async () => {
  await stage.stop();
  receiver.close();
});

const failure = (type: string) => expect.objectContaining({ type });
const create = (by: By = merchant, path = "/ok", merchant_id: string | null = M, reseller_id = R) =>
  stage.bus.call("webhook.createEndpoint", {
    by,
    reseller_id,
    ...(merchant_id === null ? {} : { merchant_id }),
    url: `${receiver.url}${path}`,
    types: TYPES,
  });
const get = (id: string, by: By = merchant) => stage.bus.call("webhook.getEndpoint", { by, id });
const deliveries = (id: string) => stage.bus.call("webhook.endpointDeliveries", { by: merchant, id });
const test1 = (id: string, by: By = merchant) => stage.bus.call("webhook.testEndpoint", { by, id });
const inState = (id: string, delivery_id: string, state: string) =>
  until(`${delivery_id} ${state}`, async () => {
    await clock.advance(10);
    const { deliveries: listed } = await deliveries(id);
    return listed.find((d) => d.id === delivery_id && d.state === state);
  });
const remove = (id: string, by: By = merchant) => stage.bus.call("webhook.deleteEndpoint", { by, id });

describe("an endpoint", () => {
  test("is made with a secret that no other answer shows, read, changed and deleted", async () => {
    const { secret, ...made } = await create();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(made).toMatchObject({
      reseller_id: R,
      merchant_id: M,
      types: TYPES,
      paused: false,
      secret_expires_at: null,
    });
    expect(await get(made.id)).toEqual(made);
    const list = await stage.bus.call("webhook.listEndpoints", { by: merchant });
    expect(list.endpoints.find((e) => e.id === made.id)).toEqual(made);
    const changed = await stage.bus.call("webhook.updateEndpoint", {
      by: merchant,
      id: made.id,
      types: ["lead.answered"],
      paused: true,
    });
    expect(changed).toMatchObject({ types: ["lead.answered"], paused: true, url: made.url });
    expect(JSON.stringify([list, changed, await get(made.id)])).not.toContain("whsec_");
    await remove(made.id);
    await expect(get(made.id)).rejects.toEqual(failure("ENDPOINT_NOT_FOUND"));
    await expect(remove(made.id)).rejects.toEqual(failure("ENDPOINT_NOT_FOUND"));
  });

  test("is its tenant's alone: others do not find it, users read it, and nobody makes one for another", async () => {
    const own = await create();
    const ofReseller = await create(asReseller(R), "/reseller", null);
    for (const by of [asReseller("other"), asMerchant(R, "m2"), asMerchant("other", M), asUser(R, "m2")]) {
      await expect(get(own.id, by)).rejects.toEqual(failure("ENDPOINT_NOT_FOUND"));
      await expect(remove(own.id, by)).rejects.toEqual(failure("ENDPOINT_NOT_FOUND"));
      await expect(test1(own.id, by)).rejects.toEqual(failure("ENDPOINT_NOT_FOUND"));
    }
    await expect(get(ofReseller.id)).rejects.toEqual(failure("ENDPOINT_NOT_FOUND"));
    expect((await get(own.id, asUser(R, M))).id).toBe(own.id);
    await expect(remove(own.id, asUser(R, M))).rejects.toEqual(failure("FORBIDDEN"));
    for (const by of [asReseller("other"), asMerchant(R, "m2"), asUser(R, M)])
      await expect(create(by)).rejects.toEqual(failure("FORBIDDEN"));
    await expect(create(merchant, "/x", null)).rejects.toEqual(failure("FORBIDDEN"));
    await expect(create(asAdmin, "/x", null, "nobody")).rejects.toEqual(failure("RESELLER_NOT_FOUND"));
    await expect(create(asAdmin, "/x", "nobody")).rejects.toEqual(failure("MERCHANT_NOT_FOUND"));
    await Promise.all([remove(own.id), remove(ofReseller.id, asReseller(R))]);
  });

  test("of one tenant there are never more than the limit, however many are asked for at once", async () => {
    const by = asMerchant(R, "crowd");
    const wanted = await Promise.allSettled(
      Array.from({ length: MAX_ENDPOINTS_OF_OWNER + 5 }, () => create(by, "/ok", "crowd")),
    );
    const made = wanted.flatMap((w) => (w.status === "fulfilled" ? [w.value.id] : []));
    const { count } = await stage.bus.call("webhook.listEndpoints", { by, limit: 100 });
    expect([made.length <= MAX_ENDPOINTS_OF_OWNER, count]).toEqual([true, made.length]);
    for (let i = made.length; i < MAX_ENDPOINTS_OF_OWNER; i++) await create(by, "/ok", "crowd");
    await expect(create(by, "/ok", "crowd")).rejects.toEqual(failure("RESOURCE_IN_USE"));
    await remove(made[3] ?? "", by);
    expect((await create(by, "/ok", "crowd")).merchant_id).toBe("crowd");
  });

  test("a tenant that is deleted takes its endpoints along", async () => {
    const by = asMerchant(R, "leaving");
    const { id } = await create(by, "/ok", "leaving");
    await stage.bus.call("webhook.dropEndpoints", { reseller_id: R, merchant_id: "leaving" });
    await expect(get(id, by)).rejects.toEqual(failure("ENDPOINT_NOT_FOUND"));
  });
});

describe("a test event", () => {
  test("arrives signed by the endpoint's secret; after a rotation the old and the new one verify it for a day", async () => {
    const { id, secret } = await create();
    const sent = await test1(id);
    expect(sent).toMatchObject({ endpoint_id: id, type: "endpoint.test", lead_id: null });
    await inState(id, sent.id, "delivered");
    const got = receiver.received.find((r) => r.headers["webhook-id"] === sent.id)!;
    expect(new Webhook(secret).verify(got.body, got.headers)).toMatchObject({
      specversion: "1.0",
      type: "endpoint.test",
      subject: id,
      data: { endpoint_id: id },
    });
    const rotated = await stage.bus.call("webhook.rotateEndpointSecret", { by: merchant, id });
    expect((await get(id)).secret_expires_at).toBe(rotated.previous_valid_until);
    const both = await test1(id);
    await inState(id, both.id, "delivered");
    const second = receiver.received.find((r) => r.headers["webhook-id"] === both.id)!;
    for (const one of [secret, rotated.secret])
      expect(new Webhook(one).verify(second.body, second.headers)).toMatchObject({ type: "endpoint.test" });
    await clock.advance(86_401_000);
    const later = await test1(id);
    await inState(id, later.id, "delivered");
    const third = receiver.received.find((r) => r.headers["webhook-id"] === later.id)!;
    expect(third.headers["webhook-signature"]!.split(" ")).toHaveLength(1);
    await remove(id);
  });

  test("is tried once, also at a paused endpoint, and can be sent again with the same id and bytes", async () => {
    receiver.answer("/down", () => 503);
    const { id } = await create(merchant, "/down");
    await stage.bus.call("webhook.updateEndpoint", { by: merchant, id, paused: true });
    const sent = await test1(id);
    expect(await inState(id, sent.id, "exhausted")).toMatchObject({ tries: [{ status: 503 }], next_try_at: null });
    receiver.answer("/down", () => 204);
    const again = { by: merchant, id, delivery_id: sent.id };
    await stage.bus.call("webhook.replayEndpointDelivery", again);
    await inState(id, sent.id, "delivered");
    const mine = receiver.received.filter((r) => r.headers["webhook-id"] === sent.id);
    expect([mine.length, mine[0]!.body === mine[1]!.body]).toEqual([2, true]);
    await expect(
      stage.bus.call("webhook.replayEndpointDelivery", { ...again, delivery_id: "msg_nobodys" }),
    ).rejects.toEqual(failure("DELIVERY_NOT_FOUND"));
    await remove(id);
    await expect(deliveries(id)).rejects.toEqual(failure("ENDPOINT_NOT_FOUND"));
  });
});

test("secrets stand in no log and in no entry of the audit log", async () => {
  const { id, secret } = await create();
  const { secret: second } = await stage.bus.call("webhook.rotateEndpointSecret", { by: merchant, id });
  await inState(id, (await test1(id)).id, "delivered");
  const told = [...logged, JSON.stringify(audited)].join("\n");
  expect(told).toContain("webhook.delivered");
  expect(audited.map(({ action }) => action)).toEqual(
    expect.arrayContaining(["webhook_endpoint.created", "webhook_endpoint.secret_rotated"]),
  );
  for (const one of [secret, second]) expect(told.includes(one.slice("whsec_".length))).toBe(false);
  await remove(id);
});
