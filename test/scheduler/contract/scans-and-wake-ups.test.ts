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

const at = (ms: number): string => new Date(s.clock.now().getTime() + ms).toISOString();

test("with all events dropped every lead is found by the full scan", async () => {
  for (let n = 0; n < 300; n++) s.put(n);
  const began = s.clock.monotonicMs();
  await s.run("300 dials", () => s.dialled().length >= 300);
  expect(s.clock.monotonicMs() - began).toBeLessThanOrEqual(3000);
  expect(new Set(s.dialled()).size).toBe(300);
});

test("a lead that becomes due between two scans is called in time", async () => {
  s.put(1, { due_at: at(1300) });
  s.put(2, { due_at: at(1700) });
  const began = s.clock.now().getTime();
  const when = new Map<string, number>();
  await s.run(
    "both",
    () => {
      for (const l of s.dialled()) if (!when.has(l)) when.set(l, s.clock.now().getTime() - began);
      return when.size === 2;
    },
    5,
  );
  expect(when.get(id(1))).toBeGreaterThanOrEqual(1300);
  expect(when.get(id(1))).toBeLessThanOrEqual(1360);
  expect(when.get(id(2))).toBeGreaterThanOrEqual(1700);
  expect(when.get(id(2))).toBeLessThanOrEqual(1760);
});

test("the count of slots is cached for two seconds, however often it is read meanwhile", async () => {
  s.configure({ enable_international_call: false });
  s.freeSlots = new Map([["+14155550100", 0]]);
  s.put(3);
  await s.pass(8000); // looked at every second
  expect(s.of("availability").length).toBeGreaterThanOrEqual(3);
  s.freeSlots.set("+14155550100", 1); // and nobody says so
  const began = s.clock.monotonicMs();
  await s.run("a dial", () => s.dialled().length === 1);
  expect(s.clock.monotonicMs() - began).toBeLessThanOrEqual(4000);
});

test("an event wakes its queue without a full scan", async () => {
  await s.pass(1100);
  const scans = s.of("heads").length;
  s.put(3);
  s.stage.bus.broadcast("lead.queued", { lead_id: id(3), queue: T, due_at: at(0) });
  await s.run("a dial", () => s.dialled().length === 1, 2);
  expect(s.of("heads").length - scans).toBeLessThanOrEqual(2);
});

test("an event that arrives while its queue is read is not lost", async () => {
  let other = 0;
  s.dial = (orders) => {
    if (other === 0) {
      other = 1;
      s.put(5);
      s.stage.bus.broadcast("lead.queued", { lead_id: id(5), queue: T, due_at: at(0) });
    }
    return orders.map(() => true);
  };
  s.put(4);
  s.stage.bus.broadcast("lead.queued", { lead_id: id(4), queue: T, due_at: at(0) });
  await s.run("the first", () => s.dialled().length === 1, 2);
  const began = s.clock.monotonicMs();
  await s.run("the second", () => s.dialled().length === 2, 2);
  expect(s.clock.monotonicMs() - began).toBeLessThanOrEqual(200);
});

test("shares that a queue can't fill go round again within the pass; a quiet tenant beside a busy one is served in the same pass", async () => {
  const quiet = "77777777-7777-4777-8777-777777777777";
  s.configure({}, {}, quiet);
  for (let n = 0; n < 1000; n++) s.put(1000 + n);
  for (let n = 0; n < 3; n++) s.put(n, { template_id: quiet, reseller_id: "r2", merchant_id: "m2" });
  await s.run("a pass", () => s.of("claimMany").length > 0, 5);
  const [claim = { items: [] }] = s.of("claimMany");
  const first = (claim["items"] as { lead_id: string }[]).map((i) => i.lead_id);
  expect(first).toHaveLength(100);
  expect(first.filter((l) => [0, 1, 2].map(id).includes(l))).toHaveLength(3);
});
