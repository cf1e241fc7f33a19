import type { ResultOf } from "../../../shared/bus/bus.ts";
import { id, schedulerStage, T, type SchedulerStage } from "../fixtures/scheduler-world.ts";

const template = (n: number): string =>
  `${n.toString(16).padStart(2, "0")}000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const BAD = 0x42;

let s: SchedulerStage;
beforeAll(async () => {
  s = await schedulerStage();
});
afterAll(() => s.stage.stop());
beforeEach(async () => {
  s.reset();
  await s.pass();
  s.requests.length = 0;
  // leads of templates whose names are spread over all there are
  for (let n = 0; n < 256; n += 2) {
    s.configure({}, {}, template(n));
    s.put(n, { template_id: template(n) });
  }
});

const said = (event: string) => s.lines.filter((line) => line["event"] === event);
const explain = (n: number): Promise<ResultOf<"scheduler.explain">> => {
  const lead = s.leads.get(id(n));
  if (!lead) throw new Error("the lead was called");
  const { queue: _queue, payload_bytes: _bytes, override_of: _of, ...waiting } = lead;
  return s.stage.bus.call("scheduler.explain", { lead: { ...waiting, outcome: null, held: null } });
};
const othersCalled = () => s.run("the others' calls", () => new Set(s.dialled()).size >= 127);

test("a page of due queues that can't be read is stepped over, named in log and explain, and read again later", async () => {
  s.unreadable.add(template(BAD));
  await othersCalled();
  expect(s.dialled()).not.toContain(id(BAD));
  expect(said("scan.page_failed")[0]).toMatchObject({ level: "error", own: false, from: template(BAD - 2), to: "43" });
  expect(await explain(BAD)).toMatchObject({
    eligible: false,
    summary: expect.stringMatching(/could not read what it needs/) as string,
  });
  s.unreadable.clear();
  await s.run("its call", () => s.dialled().includes(id(BAD)));
  await s.pass();
  s.lines.length = 0;
  await s.pass();
  expect(s.lines).toEqual([]);
});

test("a queue or a plan that can't be read rests alone, named in log and explain", async () => {
  const [queue] = [template(BAD)];
  for (const lead of s.leads.values()) {
    s.stage.bus.broadcast("lead.queued", { lead_id: lead.lead_id, queue: lead.queue, due_at: lead.due_at });
  }
  s.unreadable.add(queue);
  await othersCalled();
  await s.run("the line", () => said("queue.aside").length > 0);
  expect(said("queue.aside")[0]).toMatchObject({
    level: "error",
    queue,
    message: expect.stringContaining(queue) as string,
  });
  expect((await explain(BAD)).summary).toMatch(/could not read what it needs/);
  s.unreadable.clear();
  await s.run("its call", () => s.dialled().includes(id(BAD)));
});

test("more due queues than a page holds are found in one scan", async () => {
  s.leads.clear();
  for (let n = 0; n < 2500; n++) s.put(n, { queue: `${template(n % 256)}.${n}` });
  s.configure({ enable_calling: false }, {}, T);
  const scans = s.of("heads").length;
  await s.run("a scan", () => s.of("heads").length >= scans + 4);
  expect(
    s
      .of("heads")
      .slice(-4)
      .map((h) => h["own"]),
  ).toEqual([false, false, false, true]);
});
