import { zoneMark } from "../../../shared/numbering/callee-zones.ts";
import { id, schedulerStage, T, type SchedulerStage } from "../fixtures/scheduler-world.ts";

/** Callees in many time zones, in passes of the scheduler: it is 10:00 UTC on a Saturday, 05:00 in New York and 19:00 in Tokyo. */

const NEW_YORK = "+12125551234";
const BERLIN = "+4915112345678";
let s: SchedulerStage;
beforeAll(async () => {
  s = await schedulerStage();
});
afterAll(() => s.stage.stop());
beforeEach(async () => {
  s.reset();
  await s.pass();
  s.configure({ call_start_time: "09:00", call_end_time: "18:00", timezone: "Europe/Berlin", respect_callee_timezone: null }); // prettier-ignore
  s.requests.length = 0;
});
const queueFor = (number: string): string => `${T}~${zoneMark(number)}`;
const put = (n: number, phone_number: string, queue = queueFor(phone_number)) =>
  s.put(n, { phone_number, queue, due_at: new Date(s.clock.now().getTime() - 1000 * (1000 - n)).toISOString() });

test("a thousand callees abroad, where it is night, keep nobody waiting at home; of them nothing is read, and they are called when it is day for both", async () => {
  for (let n = 0; n < 900; n++) put(n, NEW_YORK);
  put(950, BERLIN);
  await s.run("a dial", () => s.dialled().length > 0);
  expect(s.of("dial").map((o) => [o["lead_id"], o["dial_until"]])).toEqual([[id(950), "2026-11-21T17:00:00.000Z"]]);
  const read = s.of("dueOf").flatMap((p) => (p["queues"] as { queue: string }[]).map((q) => q.queue));
  expect(new Set(read)).toEqual(new Set([queueFor(BERLIN)]));
  s.requests.length = 0;
  s.clock.set(new Date("2026-11-21T14:00:00.000Z"));
  await s.run("dials", () => s.dialled().length > 0);
  expect(s.of("dial")[0]).toMatchObject({ to: NEW_YORK, dial_until: "2026-11-21T17:00:00.000Z" });
  s.clock.set(new Date("2026-11-21T10:00:00.000Z"));
});

test("those that wait in a queue of 0.2.0 are put aside in one request, and the one behind them is called", async () => {
  for (let n = 0; n < 30; n++) put(n, NEW_YORK, T);
  put(40, BERLIN, T);
  await s.run("a dial", () => s.dialled().includes(id(40)));
  expect(s.dialled()).toEqual([id(40)]);
  const asked = s.of("requeue").flatMap((p) => p["lead_ids"] as string[]);
  expect(new Set(asked).size).toBe(30);
  expect([...s.leads.values()].every((lead) => lead.queue === queueFor(NEW_YORK))).toBe(true);
});

test("a playground lead is held by its callee's clock alone", async () => {
  s.put(1, { queue: `p:${id(1)}`, phone_number: NEW_YORK, configurations_override: { max_retry: 0 } });
  s.put(2, {
    queue: `p:${id(2)}`,
    phone_number: NEW_YORK,
    configurations_override: { respect_callee_timezone: false },
  });
  await s.run("a dial", () => s.dialled().length > 0);
  await s.pass();
  expect(s.dialled()).toEqual([id(2)]);
});
