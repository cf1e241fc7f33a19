import { createQueueSchedule } from "../../../services/scheduler/memory/queue-schedule.ts";

test("a queue is due at the earliest instant scheduled; taken, it is off the schedule until it is scheduled again", () => {
  const a = createQueueSchedule();
  a.schedule("q", 500);
  a.schedule("q", 300);
  a.schedule("q", 400);
  expect([a.nextDueAt(), a.takeDue(299), a.takeDue(300), a.takeDue(1000), a.nextDueAt()]).toEqual([
    300,
    [],
    ["q"],
    [],
    null,
  ]);
});
test("what is scheduled while the queue is looked at is not lost, whatever the look finds", () => {
  const a = createQueueSchedule();
  a.schedule("q", 0);
  expect(a.takeDue(0)).toEqual(["q"]);
  a.schedule("q", 10);
  a.reschedule("q", null);
  a.reschedule("q", 2000);
  expect(a.takeDue(10)).toEqual(["q"]);
});
test("a blocked queue is not due before, whatever is scheduled", () => {
  const a = createQueueSchedule();
  a.schedule("q", 0);
  a.block("q", 5000);
  a.schedule("q", 10);
  expect([a.takeDue(4999), a.takeDue(5000)]).toEqual([[], ["q"]]);
  a.schedule("q", 10);
  expect(a.takeDue(5000)).toEqual(["q"]);
});
test("a queue that waits for a slot is due when one of its provider is released, else at its own time; one slot does not wake all", () => {
  const a = createQueueSchedule();
  for (let i = 0; i < 250; i++) a.awaitSlot(`q${i}`, i < 200 ? "PROVIDER_ONE" : "PROVIDER_TWO", 1000);
  a.schedule("q0", 5);
  expect(a.takeDue(10)).toEqual([]);
  a.slotReleased("PROVIDER_ONE", 20);
  const first = a.takeDue(20);
  expect(first).toHaveLength(100);
  expect(first.every((q) => Number(q.slice(1)) < 100)).toBe(true);
  for (const q of first) a.awaitSlot(q, "PROVIDER_ONE", 1020);
  a.slotReleased("PROVIDER_ONE", 30);
  expect(a.takeDue(30).every((q) => Number(q.slice(1)) >= 100)).toBe(true);
  expect(a.takeDue(1020)).toHaveLength(150);
});
