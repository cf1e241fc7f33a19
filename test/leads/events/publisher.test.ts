import { publisherStage, type PublisherStage } from "../fixtures/publisher-stage.ts";
import { needing } from "../../fixtures/database-abilities.ts";
import { servedBy } from "../../fixtures/query-plan.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const LEASE_MS = 6000;
const clock = virtualClock();
let at: PublisherStage;
beforeEach(async () => {
  at = await publisherStage(clock);
});
afterEach(() => at.close());

test("events go into the log with their places, for as long as is set, and out of the outbox; then nothing is left to do", async () => {
  const one = at.publisher("a");
  const ids = [await at.push(), await at.push()];
  await Promise.all(ids.map(at.end));
  await one.pass();
  await at.expectWhole(ids);
  expect(at.hints).toEqual(["events.published"]);
  const [first] = await at.logged();
  expect(first?.expires_at.getTime()).toBe(clock.now().getTime() + 3 * 86_400_000);
  const late = await at.push();
  one.owed([late]);
  await one.pass();
  expect(await at.logged()).toHaveLength(7);
  await at.end(late);
  one.owed([late]);
  await one.pass();
  await at.expectWhole([...ids, late], [late]);
  expect(await one.pass()).toBe(false);
});

test("a publisher that dies between the log and the outbox is followed by one that repeats nothing", async () => {
  const dying = at.publisher("a", {
    silent: true,
    leads: { emptyOutboxes: () => Promise.reject(new Error("killed")) },
  });
  const ids = [await at.push(), await at.push()];
  await expect(dying.pass()).rejects.toThrow("killed");
  await Promise.all(ids.map(at.end));
  const next = at.publisher("b");
  expect(await next.pass()).toBe(false);
  expect(await at.owing()).toHaveLength(2);
  await clock.advance(LEASE_MS + 1);
  await next.pass();
  await at.expectWhole(ids);
});

test("one that dies in the middle of the at.log, likewise", async () => {
  const dying = at.publisher("a", {
    silent: true,
    events: { append: async (some) => (await at.log.append(some.slice(0, 1))) && Promise.reject(new Error("killed")) },
  });
  const ids = [await at.push(), await at.push()];
  await Promise.all(ids.map(at.end));
  await expect(dying.pass()).rejects.toThrow("killed");
  expect(await at.logged()).toHaveLength(1);
  await clock.advance(LEASE_MS + 1);
  await at.publisher("b").pass();
  await at.expectWhole(ids);
});

test("one that dies with outboxes that it has published and not emptied yet, likewise", async () => {
  const dying = at.publisher("a", { silent: true });
  await dying.pass();
  const ids = [await at.push(), await at.push()];
  dying.owed(ids);
  await dying.pass();
  expect(await at.logged()).toHaveLength(2);
  await Promise.all(ids.map(at.end));
  await clock.advance(LEASE_MS + 1);
  await at.publisher("b").pass();
  await at.expectWhole(ids);
});

test("one that wakes up after another has taken its place repeats nothing, leaves no gap, and stands back", async () => {
  const ids = [await at.push(), await at.push()];
  await Promise.all(ids.map(at.end));
  const other = at.publisher("b");
  // it has read the outboxes, stands still, and only then writes
  const stood = at.publisher("a", {
    silent: true,
    events: {
      append: async (some) => {
        await clock.advance(LEASE_MS + 1);
        await other.pass();
        return at.log.append(some);
      },
    },
  });
  await stood.pass();
  await at.expectWhole(ids);
  const late = await at.push();
  await at.end(late);
  stood.owed([late]);
  expect(await stood.pass()).toBe(false);
  expect(at.toldOf).toEqual([{ lead_ids: [late] }]);
  other.told([late]);
  await other.pass();
  await at.expectWhole([...ids, late], [late]);
});

test("one that writes into the log and loses the answer repeats nothing of leads that it knows", async () => {
  let lost = false;
  const one = at.publisher("a", {
    events: {
      append: async (some) => (await at.log.append(some)) && (!lost || Promise.reject(new Error("no answer"))),
    },
  });
  await one.pass();
  const id = await at.push();
  one.owed([id]);
  await one.pass();
  await at.end(id);
  one.owed([id]);
  lost = true;
  await expect(one.pass()).rejects.toThrow("no answer");
  lost = false;
  await one.pass();
  expect((await at.logged()).map(({ seq }) => seq)).toEqual([1, 2, 3]);
});

test("leads are published as their writes read them, without another read; one that comes late repeats nothing", async () => {
  let reads = 0;
  const one = at.publisher("a", { leads: { outboxesOf: (ids) => (reads++, at.leads.outboxesOf(ids)) } });
  const take = (id: string) => [at.read.get(id)].filter((lead) => lead !== undefined);
  await one.pass(); // all that is there
  await one.pass(); // looks for what nobody told of
  const id = await at.push();
  const first = take(id);
  one.owed([id], first);
  await one.pass();
  expect(await at.end(id)).not.toHaveProperty("outbox");
  one.owed([id], take(id));
  one.owed([id], first);
  await one.pass();
  expect(reads).toBe(0);
  await at.expectWhole([id], [id]);
  one.owed([id], first);
  await one.pass();
  one.told([id]);
  await one.pass();
  expect(reads).toBe(1);
  await at.expectWhole([id], [id]);
});

test("a lead that moves on while it is published keeps what is new", async () => {
  const id = await at.push();
  const one = at.publisher("a", {
    events: {
      append: async (some) => {
        if (some[0]?.seq === 1) await at.end(id);
        return at.log.append(some);
      },
    },
  });
  expect(await one.pass()).toBe(true);
  expect((await at.logged()).map(({ seq }) => seq)).toEqual([1]);
  await one.pass();
  await at.expectWhole([id]);
});

test("positions go on where they were when the log has expired", async () => {
  const one = at.publisher("a");
  await at.push();
  await one.pass();
  await one.leave();
  await at.sheets.deleteMany({});
  await at.push();
  await at.publisher("b").pass();
  expect((await at.logged()).map(({ position }) => position)).toEqual([2]);
});

test("who does not publish tells who does, once for what there is", async () => {
  const [one, other] = [at.publisher("a"), at.publisher("b")];
  await one.pass();
  const many = Array.from({ length: 1001 }, (_, i) => `lead-${i}`);
  other.owed(many);
  other.owed(many.slice(0, 5));
  other.told(["of another process"]);
  expect([await other.pass(), await other.pass()]).toEqual([false, false]);
  expect(at.toldOf).toEqual([{ lead_ids: many.slice(0, 1000) }, { lead_ids: many.slice(1000) }]);
  // a process of an older version names none: the publisher looks at once
  await one.pass();
  const untold = await at.push();
  one.told(undefined);
  while (await one.pass());
  expect((await at.logged()).map(({ subject }) => subject)).toEqual([untold]);
  await one.leave();
  await clock.advance(LEASE_MS);
  await at.push();
  await other.pass();
  expect(await at.logged()).toHaveLength(2);
});

needing("plans", () => {
  test("every read is served by an index, and none but of one lead's events sorts", async () => {
    const id = await at.push();
    const served = (collection: string, work: () => Promise<unknown>) => servedBy(at.uri, collection, work);
    const of = (reseller_id: string | null, merchant_id: string | null) => () =>
      at.log.between({ reseller_id, merchant_id }, 0, 10, 5);
    expect(await served("leads", () => at.leads.owingEvents(5))).toEqual({ index: "outbox", sorted: false });
    for (const range of [{ since: clock.now() }, { before: clock.now() }])
      expect(await served("leads", () => at.leads.filledOutboxes(range, 5))).toEqual({
        index: "outbox",
        sorted: false,
      });
    expect(await served("leads", () => at.leads.outboxesOf([id]))).toEqual({ index: "_id_", sorted: false });
    expect(await served("lead_events", of(null, null))).toEqual({ index: "_id_", sorted: false });
    expect(await served("lead_events", of("r", null))).toEqual({ index: "of_reseller", sorted: false });
    expect((await served("lead_events", of("r", "m"))).index).toMatch(/^of_(?:merchant|reseller)$/);
    expect(await served("lead_events", () => at.log.ofLead(id, 0, 5, 3))).toEqual({ index: "of_lead", sorted: false });
    expect(await served("lead_events", () => at.log.known([id]))).toEqual({ index: "of_lead", sorted: false });
    expect(await served("lead_events", () => at.log.erase(id, "+1"))).toEqual({ index: "of_lead", sorted: false });
  });
});
