import webhook from "../../../services/webhook/webhook.service.ts";
import { asMerchant, asReseller, setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";
import { exampleEvent, type EventName } from "../../../shared/contracts/events/catalogue.ts";
import type { CloudEvent } from "../../../shared/contracts/events/event-type.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { startReceiver, type Received, type Receiver } from "../fixtures/receiver.ts";

const clock = virtualClock(new Date());
const R = "11111111-1111-4111-8111-111111111111";
const M = "22222222-2222-4222-8222-222222222222";
const TYPES: EventName[] = ["lead.queued", "lead.claimed", "lead.answered", "lead.finished"];
/** The log of events, as the leads service would have it. */
const log: { position: number; event: CloudEvent }[] = [];
let asked = 0;
let receiver: Receiver;
let stage: Stage;

beforeAll(async () => {
  receiver = await startReceiver();
  stage = await setStage({
    clock,
    random: () => 0.5,
    env: { WEBHOOK_ALLOW_HTTP: "true", WEBHOOK_ALLOW_PRIVATE: "true" },
    services: [
      webhook,
      standIn("merchants", { lookup: () => ({ reseller: true, merchant: true }) }),
      standIn("auth", { record: () => ({}) }),
      standIn("leads", {
        eventsAfter({ after, limit = 50 }) {
          if (after !== null) asked++;
          const events = after === null ? [] : log.filter(({ position }) => position > after).slice(0, limit);
          const next = events.at(-1)?.position ?? Math.max(after ?? 0, log.length);
          return { events, next, more: next < log.length, expired: false };
        },
      }),
    ],
  });
});
afterAll(async () => {
  await stage.stop();
  receiver.close();
});

const lead = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const seqs = new Map<string, number>();
function happen(n: number, type: EventName, merchant: string | null = M, reseller = R): string {
  const seq = (seqs.get(lead(n)) ?? 0) + 1;
  seqs.set(lead(n), seq);
  const event: CloudEvent = {
    specversion: "1.0",
    id: `${lead(n)}.${seq}`,
    source: "/callagent/leads",
    type,
    subject: lead(n),
    time: clock.now().toISOString(),
    datacontenttype: "application/json",
    reseller,
    ...(merchant === null ? {} : { merchant }),
    seq,
    data: { request_id: "o-1", phone_number: "+1415***0100" },
  };
  log.push({ position: log.length + 1, event });
  return event.id;
}
const create = (by: By, path: string, merchant_id: string | null, types = TYPES) =>
  stage.bus.call("webhook.createEndpoint", {
    by,
    reseller_id: R,
    ...(merchant_id === null ? {} : { merchant_id }),
    url: `${receiver.url}${path}`,
    types,
  });
const told = (): void => stage.bus.broadcast("events.published", { position: log.length });
const eventOf = ({ body }: Received): CloudEvent & { lost?: string[] } => JSON.parse(body);
const at = (path: string) => receiver.received.filter((r) => r.path === path).map(eventOf);
const settled = (what: string, isThere: () => boolean) =>
  until(what, async () => {
    await clock.advance(50);
    return isThere() ? true : undefined;
  });
const merchant = asMerchant(R, M);
/** So many tries of an event are written down: only then is its next one planned by the clock as it stands. */
const tried = (id: string, event_id: string, tries: number) =>
  until(`${tries} tries of ${event_id}`, async () => {
    await clock.advance(50);
    const { deliveries } = await stage.bus.call("webhook.endpointDeliveries", { by: merchant, id });
    return deliveries.find((d) => d.event_id === event_id && d.tries.length >= tries);
  });

test("without any endpoint nobody asks for events", async () => {
  happen(900, "lead.queued");
  told();
  await clock.advance(5000);
  expect(asked).toBe(0);
});

test("events of a lead arrive in order with their number, whole and masked; each endpoint hears its types alone, from its making on", async () => {
  const { id } = await create(merchant, "/all", M);
  await create(merchant, "/few", M, ["lead.finished"]);
  const ids = TYPES.map((type) => happen(1, type));
  told();
  await settled("all four", () => at("/all").length >= 4 && at("/few").length > 0);
  expect(at("/all").map((e) => [e.id, e.seq, e.type])).toEqual(ids.map((of, i) => [of, i + 1, TYPES[i]]));
  expect(at("/all")[0]).toMatchObject({
    specversion: "1.0",
    reseller: R,
    merchant: M,
    data: { phone_number: "+1415***0100" },
  });
  expect(at("/few").map((e) => e.type)).toEqual(["lead.finished"]);
  const { deliveries } = await stage.bus.call("webhook.endpointDeliveries", { by: merchant, id });
  expect(deliveries.map((d) => [d.event_id, d.state]).sort()).toEqual(ids.map((of) => [of, "delivered"]).sort());
});

test("a failing event is repeated before the next one of its lead, and other leads go on meanwhile", async () => {
  let failures = 2;
  const { id } = await create(merchant, "/order", M);
  receiver.answer("/order", (r) => (eventOf(r).subject === lead(2) && failures-- > 0 ? 404 : 204));
  for (const type of TYPES) happen(2, type);
  for (const type of TYPES) happen(3, type);
  told();
  await settled("the other lead", () => at("/order").filter((e) => e.subject === lead(3)).length === 4);
  expect(
    at("/order")
      .filter((e) => e.subject === lead(2))
      .map((e) => e.seq),
  ).toEqual([1]);
  await tried(id, `${lead(2)}.1`, 1);
  await clock.advance(6000);
  await tried(id, `${lead(2)}.1`, 2);
  await clock.advance(301_000);
  await settled("the rest", () => at("/order").filter((e) => e.subject === lead(2)).length >= 6);
  expect(
    at("/order")
      .filter((e) => e.subject === lead(2))
      .map((e) => e.seq),
  ).toEqual([1, 1, 1, 2, 3, 4]);
});

test("a given-up event lets the next ones go on, and the next one that arrives names it, in the same bytes at every try", async () => {
  const { id } = await create(merchant, "/lost", M);
  let tries = 0;
  receiver.answer("/lost", (r) => (eventOf(r).seq === 2 ? 410 : eventOf(r).seq === 3 && tries++ === 0 ? 404 : 204));
  const ids = TYPES.map((type) => happen(4, type));
  told();
  await tried(id, ids[2] ?? "", 1);
  await clock.advance(6000);
  await settled("the last", () => at("/lost").some((e) => e.seq === 4));
  expect(at("/lost").map((e) => [e.seq, e.lost])).toEqual([
    [1, undefined],
    [2, undefined],
    [3, [ids[1]]],
    [3, [ids[1]]],
    [4, undefined],
  ]);
  const bodies = receiver.received.filter((r) => r.path === "/lost" && eventOf(r).seq === 3).map((r) => r.body);
  expect(bodies[0]).toBe(bodies[1]);
  const { deliveries } = await stage.bus.call("webhook.endpointDeliveries", { by: merchant, id, state: "refused" });
  expect(deliveries.map((d) => d.event_id)).toEqual([ids[1]]);
});

test("what happens while an endpoint is paused is sent in order when it goes on", async () => {
  const { id } = await create(merchant, "/paused", M);
  const change = (paused: boolean) => stage.bus.call("webhook.updateEndpoint", { by: merchant, id, paused });
  await change(true);
  for (const type of TYPES) happen(5, type);
  told();
  await settled("them to be kept", () => at("/all").filter((e) => e.subject === lead(5)).length === 4);
  expect(at("/paused")).toEqual([]);
  await change(false);
  await settled("them to be sent", () => at("/paused").length >= 4);
  expect(at("/paused").map((e) => e.seq)).toEqual([1, 2, 3, 4]);
});

test("a deleted endpoint gets nothing more, nor what waited for it", async () => {
  const { id } = await create(merchant, "/deleted", M);
  receiver.answer("/deleted", () => 404);
  for (const type of TYPES) happen(6, type);
  told();
  await settled("a try", () => at("/deleted").length === 1);
  await stage.bus.call("webhook.deleteEndpoint", { by: merchant, id });
  receiver.answer("/deleted", () => 204);
  happen(6, "lead.finished");
  told();
  await settled("the other endpoint", () => at("/all").filter((e) => e.subject === lead(6)).length === 5);
  await clock.advance(400_000);
  await settled("a later one", () => {
    if (seqs.get(lead(7)) === undefined) {
      happen(7, "lead.queued");
      told();
    }
    return at("/all").some((e) => e.subject === lead(7));
  });
  expect(at("/deleted")).toHaveLength(1);
});

test("events of a number go to who asked for the type and whose it is, in their own order; who has a lead's endpoint sees no lead in them", async () => {
  const { id } = await create(merchant, "/numbers", M, ["number.changed", "lead.finished"]);
  await create(merchant, "/no-numbers", M);
  const subject = `number:${lead(1)}`;
  const change = (seq: number, whose: Pick<CloudEvent, "reseller" | "merchant">): void => {
    const {
      subject: _subject,
      seq: _seq,
      reseller: _reseller,
      merchant: _merchant,
      ...event
    } = exampleEvent("number.changed");
    log.push({ position: log.length + 1, event: { ...event, ...whose, id: `${subject}.${seq}`, subject, seq } });
  };
  const mine = { reseller: R, merchant: M };
  let failures = 1;
  receiver.answer("/numbers", () => (failures-- > 0 ? 404 : 204));
  change(1, {});
  change(2, mine);
  change(3, { reseller: R });
  change(4, mine);
  change(5, { reseller: "another", merchant: M });
  happen(20, "lead.finished");
  told();
  await tried(id, `${subject}.2`, 1);
  await settled("the lead's", () => at("/numbers").some((e) => e.subject === lead(20)));
  expect(at("/numbers").filter((e) => e.subject === subject)).toHaveLength(1);
  await clock.advance(6000);
  await settled("the others", () => at("/numbers").length >= 4);
  expect(
    at("/numbers")
      .filter((e) => e.subject === subject)
      .map((e) => e.seq),
  ).toEqual([2, 2, 4]);
  expect(at("/no-numbers").map((e) => e.type)).toEqual(["lead.finished"]);
  const { deliveries } = await stage.bus.call("webhook.endpointDeliveries", { by: merchant, id });
  expect(deliveries.map((d) => [d.event_id, d.lead_id]).sort()).toEqual(
    [
      [`${lead(20)}.1`, lead(20)],
      [`${subject}.2`, null],
      [`${subject}.4`, null],
    ].sort(),
  );
});

test("another tenant's events go to no endpoint; a reseller's endpoint hears all its merchants", async () => {
  await create(asReseller(R), "/reseller", null);
  happen(8, "lead.queued", "other-merchant");
  happen(9, "lead.queued", null);
  happen(10, "lead.queued", M, "other-reseller");
  happen(11, "lead.queued");
  told();
  await settled("the last", () => at("/all").some((e) => e.subject === lead(11)));
  await settled("the reseller's", () => at("/reseller").length >= 3);
  expect(
    at("/reseller")
      .map((e) => e.subject)
      .sort(),
  ).toEqual([lead(8), lead(9), lead(11)].sort());
  const others = receiver.received.filter((r) => r.path !== "/reseller").map(eventOf);
  expect(others.some((e) => [lead(8), lead(9), lead(10)].includes(e.subject))).toBe(false);
});
