import { Errors } from "moleculer";
import { Failure } from "../../../shared/errors.ts";
import { N } from "../fixtures/configuration-record.ts";
import { id, schedulerStage, T, type SchedulerStage } from "../fixtures/scheduler-world.ts";

let s: SchedulerStage;
beforeAll(async () => {
  s = await schedulerStage();
});
afterAll(() => s.stage.stop());
beforeEach(async () => {
  s.reset();
  await s.pass();
  s.requests.length = 0;
});

const dials = (n: number) => s.run(`${n} dials`, () => s.dialled().length >= n);

test("a due lead gets a slot, is claimed and handed to the dialler with its snapshot", async () => {
  s.put(1);
  await dials(1);
  expect(s.of("dial")[0]).toMatchObject({
    lead_id: id(1),
    claim_no: 1,
    to: "+14155552601",
    from: "+14155550100",
    template_version: 7,
    dial_until: null,
    enforce_blacklist: true,
    max_call_seconds: 120,
    rate_limit: null,
  });
  expect(s.of("reserveMany")[0]).toMatchObject({
    same_country: false,
    wants: [{ holder: expect.stringMatching(new RegExp(`^${id(1)}\\.1~[0-9a-f]{8}$`)) }],
  });
  expect(s.of("claimMany")[0]).toMatchObject({
    items: [{ attempt: { number_id: N, policy: { max_retry: 1, retry_offset: 5, retry_on: null } } }],
  });
});

test("outside the window no lead is read, reserved or written; when it opens they are called", async () => {
  s.configure({ call_start_time: "12:00", call_end_time: "13:00" });
  s.put(2);
  await s.pass();
  expect(["dueOf", "reserveMany", "claimMany", "drop", "leads.release"].flatMap((what) => s.of(what))).toEqual([]);
  s.clock.set(new Date("2026-11-21T12:00:00.000Z"));
  await dials(1);
  expect(s.of("dial")[0]).toMatchObject({ dial_until: "2026-11-21T13:00:00.000Z" });
  s.requests.length = 0;
  s.clock.set(new Date("2026-11-21T12:59:55.001Z"));
  s.put(3, { due_at: "2026-11-21T12:00:00.000Z" });
  await s.run("passes in a window too short to ring", () => s.of("heads").length >= 4, 1000);
  expect(s.dialled()).toEqual([]);
  s.clock.set(new Date("2026-11-21T10:00:00.000Z"));
});

test("paused, switched off or unconfigured: the leads wait untouched, and are called at once when that changes", async () => {
  const stops: [string, () => void, () => void][] = [
    [
      "deployment",
      () => {
        s.pauses.deployment = { at: "2026-11-21T09:00:00.000Z", by: "user:a", reason: null };
      },
      () => {
        s.pauses.deployment = null;
      },
    ],
    [
      "merchant",
      () => {
        s.pauses.merchants = [{ id: "m", pause: { at: "2026-11-21T09:00:00.000Z", by: "user:a", reason: "audit" } }];
      },
      () => {
        s.pauses.merchants = [];
      },
    ],
    ["template", () => s.configure({}, { is_active: false }), () => s.configure({})],
    ["configuration", () => s.configure({}, { configuration: null }), () => s.configure({})],
    ["calling", () => s.configure({ enable_calling: false }), () => s.configure({ enable_calling: true })],
  ];
  for (const [i, [what, stop, go]] of stops.entries()) {
    stop();
    s.stage.bus.broadcast("calling.switched", { merchant_id: null });
    await s.pass(500);
    s.requests.length = 0;
    s.put(10 + i);
    await s.pass();
    expect([what, ...s.of("dueOf"), ...s.of("drop")]).toEqual([what]);
    go(); // and no event tells of it: within seconds it is seen all the same
    const at = s.clock.monotonicMs();
    await dials(1);
    expect(s.clock.monotonicMs() - at).toBeLessThanOrEqual(5000);
  }
});

test("no free slot: nothing is claimed; the leads are called when a slot is released, announced or not", async () => {
  s.freeSlots = new Map([["+14155550100", 0]]);
  s.put(20);
  await s.pass();
  expect(s.of("claimMany")).toEqual([]);
  expect(s.of("reserveMany").length).toBeLessThanOrEqual(5);
  s.freeSlots.set("+14155550100", 5);
  await dials(1);
});

test("leads of a country without a free slot don't make passes spin, and their queue continues when one is released", async () => {
  s.configure({ enable_international_call: false });
  s.freeSlots = new Map([["+14155550100", 0]]);
  for (let n = 0; n < 300; n++) s.put(2000 + n);
  await s.pass(5000);
  expect(s.of("reserveMany").length).toBeLessThanOrEqual(8);
  s.requests.length = 0;
  s.freeSlots.set("+14155550100", 1);
  s.stage.bus.broadcast("numbers.freed", { provider: "PROVIDER_ONE" });
  const began = s.clock.monotonicMs();
  await s.run("a dial", () => s.dialled().length === 1, 10);
  expect(s.clock.monotonicMs() - began).toBeLessThanOrEqual(300);
});

test("a lost claim releases the slot and dials nothing", async () => {
  s.claimWins = () => false;
  s.put(30);
  await s.run("a slot released", () => s.of("releaseMany").length > 0);
  expect(s.of("releaseMany")[0]).toEqual({ holders: [expect.stringMatching(new RegExp(`^${id(30)}\\.1~`))] });
  expect(s.dialled()).toEqual([]);
});

test("a dialler without room: leads and slots are released, and the next offers get smaller and rarer", async () => {
  s.dial = (orders) => orders.map(() => false);
  for (let n = 0; n < 200; n++) s.put(1000 + n);
  await s.pass(4000);
  const offers = s.of("dialMany").map((o) => Number(o["offered"]));
  expect(s.of("leads.release").length).toBe(offers.reduce((a, b) => a + b, 0));
  expect(s.of("leads.release")[0]).toMatchObject({ claim_no: 1, reason: "dialler_busy" });
  expect(s.of("releaseMany").flatMap((r) => r["holders"])).toHaveLength(s.of("leads.release").length);
  expect(offers[0]).toBe(50);
  expect(offers.at(-1)).toBeLessThanOrEqual(5);
  expect(offers.length).toBeLessThan(20);
});

test.each<[string, () => Error]>([
  ["whose answer is unknown", () => new Error("something unexpected after the hand-over")],
  [
    "that went away with the orders in hand, perhaps beyond a broken bus",
    () => new Errors.RequestRejectedError({ action: "dialer.dialMany", nodeID: "gone" }),
  ],
])("a dialler %s keeps lead and slot: the lease decides; its queue rests for some seconds", async (_name, fault) => {
  s.dial = () => {
    throw fault();
  };
  s.put(40);
  await s.run("a claim", () => s.of("claimMany").length > 0);
  s.put(41);
  await s.pass(2000);
  expect(s.of("claimMany")).toHaveLength(1);
  expect([...s.of("leads.release"), ...s.of("releaseMany")]).toEqual([]);
  s.dial = null;
  await dials(1);
});

test("a service that is down: the lead and its slot are released", async () => {
  s.dial = () => {
    throw new Failure("DEPENDENCY_DOWN", "no dialler");
  };
  s.put(45);
  await s.run("a lead released", () => s.of("leads.release").length > 0 && s.of("releaseMany").length > 0);
  expect(s.of("leads.release")[0]).toMatchObject({ lead_id: id(45), claim_no: 1 });
});

test("a queue that fails does not block another", async () => {
  s.plans.set(N, { ...s.plans.get(T)!, template_id: N });
  s.dial = (orders) =>
    orders.map((o) => {
      if (o.template_id === N) throw new Failure("VALIDATION_FAILED", "a payload nobody takes");
      return true;
    });
  s.put(46, { template_id: N });
  s.put(47);
  s.put(48);
  await dials(2);
  await s.run("the other one released", () => s.of("leads.release").length > 0 && s.of("releaseMany").length > 0);
  expect(s.dialled().sort()).toEqual([id(47), id(48)]);
  expect(s.of("settle")).toEqual([]);
  expect(s.of("leads.release")[0]).toMatchObject({ lead_id: id(46), fault: "VALIDATION_FAILED" });
});

test("blacklisted while queued: dropped, or dialled when the blacklist is not enforced", async () => {
  s.put(50, { phone_number: "+14155552699" });
  await s.run("a drop", () => s.of("drop").length > 0);
  expect(s.of("drop")[0]).toMatchObject({ lead_id: id(50), outcome: "BLACKLISTED" });
  s.configure({ enforce_blacklist: false });
  s.put(51, { phone_number: "+14155552699" });
  await dials(1);
});

test("a callee who asked this merchant not to call again: their lead in RETRY ends; another merchant's is dialled", async () => {
  const lead = { phone_number: "+14155552698", status: "RETRY", attempt_count: 1, claim_no: 1 } as const;
  s.put(52, lead);
  s.put(53, { ...lead, merchant_id: "n" });
  await dials(1);
  await s.run("a drop", () => s.of("drop").length > 0);
  expect(s.of("drop")).toEqual([expect.objectContaining({ lead_id: id(52), outcome: "BLACKLISTED" })]);
  expect(s.dialled()).toEqual([id(53)]);
});

test("a template that is gone: its leads end", async () => {
  s.plans.delete(T);
  s.stage.bus.broadcast("config.changed", { template_id: T });
  await s.pass(500);
  s.put(55);
  await s.run("a drop", () => s.of("drop").length > 0);
  expect(s.of("drop")[0]).toMatchObject({ lead_id: id(55), outcome: "failed" });
});

test("international calls off: dropped only where there are numbers and none of that country; else they wait", async () => {
  s.configure({ enable_international_call: false });
  s.freeSlots = new Map([
    ["+14155550100", 5],
    ["+33142685300", 0],
  ]);
  s.put(60, { phone_number: "+442071838750" });
  s.put(61, { phone_number: "+33142685301" });
  s.put(62);
  await dials(1);
  await s.run("a drop", () => s.of("drop").length > 0);
  await s.pass();
  expect(s.of("drop").map((d) => [d["lead_id"], d["outcome"]])).toEqual([[id(60), "INTERNATIONAL_BLOCKED"]]);
  expect(s.dialled()).toEqual([id(62)]);
  s.freeSlots.set("+33142685300", 1);
  await dials(2);
  expect(s.of("dial")[1]).toMatchObject({ lead_id: id(61), from: "+33142685300" });
});

test("without any number no lead is dropped", async () => {
  s.configure({ enable_international_call: false });
  s.freeSlots = new Map();
  s.put(65, { phone_number: "+442071838750" });
  await s.pass();
  expect([...s.of("drop"), ...s.of("claimMany")]).toEqual([]);
});

test("a playground lead runs on its own configuration, in a queue of its own", async () => {
  s.configure({ call_start_time: "12:00", call_end_time: "13:00" });
  s.put(70);
  s.put(71, { queue: `p:${id(71)}`, configurations_override: { call_start_time: "00:00", call_end_time: "00:00" } });
  await dials(1);
  expect(s.dialled()).toEqual([id(71)]);
});

test("leads that waited too long are ended in bulk: within seconds of their age whether or not they are due, and when they are picked", async () => {
  s.configure({}, { max_age_seconds: 60 });
  const began = s.clock.now().getTime();
  const alone = s.put(80, { due_at: new Date(began + 86_400_000).toISOString() }); // tomorrow, with no neighbour
  await s.run("the end of the lead", () => s.of("expire").length > 0);
  const late = s.clock.now().getTime() - began - 60_000;
  expect([late > 0, late <= 6000]).toEqual([true, true]);
  expect(s.of("expire")[0]).toMatchObject({ template_id: T, reason: "not dialled within 60 seconds" });
  expect(String(s.of("expire")[0]?.["created_before"]) > alone.created_at).toBe(true);
  s.leads.clear();
  s.put(81, { created_at: "2026-11-21T00:00:00.000Z" });
  await s.pass(300);
  s.requests.length = 0;
  await s.run("expire", () => s.of("expire").length > 0);
  expect(s.dialled()).toEqual([]);
});

test("leads with large payloads are claimed and handed over in messages that the bus takes", async () => {
  for (let n = 0; n < 7; n++) s.put(900 + n, { payload_bytes: 150_000 });
  await dials(7);
  const claims = s.of("claimMany").map((c) => (c["items"] as unknown[]).length);
  expect(claims.reduce((a, b) => a + b, 0)).toBe(7);
  expect(Math.max(...claims)).toBe(2);
  expect(Math.max(...s.of("dialMany").map((o) => Number(o["offered"])))).toBe(2);
});

test("a lead with a large payload keeps no other's order waiting, not even while its claim is under way", async () => {
  const answered = Promise.withResolvers<boolean>();
  s.claimWins = (ids) => (ids.includes(id(910)) ? answered.promise : true);
  s.put(910, { payload_bytes: 250_000 });
  for (let n = 911; n < 914; n++) s.put(n, { payload_bytes: 300 });
  await dials(3);
  expect(s.dialled().toSorted()).toEqual([id(911), id(912), id(913)]);
  answered.resolve(true);
  await dials(4);
  expect(s.of("dialMany").map((o) => o["offered"])).toEqual([3, 1]);
});

test("a claim that fails keeps the leads of other claims from nothing", async () => {
  s.claimWins = (ids) => {
    if (ids.includes(id(920))) throw new Failure("STORE_UNAVAILABLE", "away");
    return true;
  };
  s.put(920, { payload_bytes: 250_000 });
  s.put(921, { payload_bytes: 300 });
  await dials(1);
  expect(s.dialled()).toEqual([id(921)]);
  s.claimWins = () => true;
  await dials(2);
});
