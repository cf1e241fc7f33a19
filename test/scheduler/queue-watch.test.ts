import { createMetrics } from "../../shared/metrics/metrics.ts";
import { createQueueWatch } from "../../services/scheduler/memory/queue-watch.ts";
import { virtualClock } from "../fixtures/virtual-clock.ts";

const start = async () => {
  const clock = virtualClock();
  const metrics = createMetrics("scheduler", clock);
  const watch = createQueueWatch(clock, metrics);
  const found = (queue: string, due_for_s: number): void =>
    watch.found(queue, clock.now().getTime() - due_for_s * 1000);
  const shown = async (): Promise<string[]> => {
    const asked = metrics.text();
    await clock.advance(0);
    return (await asked).split("\n").filter((line) => /^callagent_(?:queues|oldest_due_seconds)\{/.test(line));
  };
  return { clock, watch, found, shown };
};

describe("the queues that the scheduler watches", () => {
  test("are counted by the gate that holds them, with the age of the oldest due lead of each", async () => {
    const { watch, found, shown } = await start();
    found("a", 5);
    found("b", 90);
    found("c", 30);
    watch.judged("b", "window");
    watch.judged("c", "window");
    watch.judged("unheard of", "line");
    expect(await shown()).toEqual([
      'callagent_queues{gate="open",process="scheduler"} 1',
      'callagent_queues{gate="window",process="scheduler"} 2',
      'callagent_oldest_due_seconds{gate="open",process="scheduler"} 5',
      'callagent_oldest_due_seconds{gate="window",process="scheduler"} 90',
    ]);
  });

  test("one that is not due yet, or that a scan around all did not find any more, is not counted", async () => {
    const { clock, watch, found, shown } = await start();
    found("later", -60);
    found("gone", 10);
    await clock.advance(1000);
    const began = clock.monotonicMs();
    found("here", 3);
    watch.wentAround(began);
    expect(await shown()).toEqual([
      'callagent_queues{gate="open",process="scheduler"} 1',
      'callagent_oldest_due_seconds{gate="open",process="scheduler"} 3',
    ]);
  });

  test("what no scan finds for two minutes is forgotten, where scans don't get around", async () => {
    const { clock, found, shown } = await start();
    found("old", 1);
    await clock.advance(121_000);
    expect(await shown()).toEqual([]);
  });
});
