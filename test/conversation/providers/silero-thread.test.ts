import { EventEmitter } from "node:events";
import type { Worker } from "node:worker_threads";
import { sileroFile, SileroThread } from "../../../services/conversation/providers/vad/silero-thread.ts";
import type { Batch } from "../../../services/conversation/providers/vad/silero-worker.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { rootLog } from "../../../shared/process/log.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const WINDOW = new Int16Array(256);
const log = rootLog(readEnv({ LOG_LEVEL: "silent" }));

/** Threads that do nothing by themselves. */
function threads() {
  const clock = virtualClock();
  const started: ReturnType<typeof fake>[] = [];
  const fake = () => {
    const events = new EventEmitter();
    const batches: Batch[] = [];
    const worker = Object.assign(events, {
      unref: () => undefined,
      postMessage: (batch: Batch) => void batches.push(batch),
      terminate: async () => {
        events.emit("exit", 1);
        return 1;
      },
    });
    return {
      worker: worker as unknown as Worker,
      batches,
      says: (what: unknown) => void events.emit("message", what),
      dies: () => void events.emit("exit", 1),
    };
  };
  const thread = new SileroThread({
    clock,
    log,
    file: "model.onnx",
    start: () => {
      const one = fake();
      started.push(one);
      return one.worker;
    },
  });
  return { clock, thread, started };
}

/** A thread that is ready, with calls that note their answers. */
function ready(calls: number) {
  const made = threads();
  const answers: (number | null)[][] = Array.from({ length: calls }, () => []);
  const judges = answers.map((list) => made.thread.open((p) => list.push(p)));
  made.started[0]!.says(null);
  return { ...made, answers, judges };
}

describe("the thread that tells voices", () => {
  test("gets the windows of all calls in one batch, and each call its own answers", async () => {
    const { clock, started, answers, judges } = ready(3);
    for (const judge of judges) judge.ask(WINDOW);
    judges[1]!.ask(WINDOW);
    expect(started[0]!.batches).toEqual([]);
    await clock.advance(20);
    const [batch] = started[0]!.batches;
    expect(batch).toMatchObject({ calls: [0, 1, 2, 1], forgets: [true, true, true, false] });
    expect(batch!.pcm.length).toBe(4 * 256);
    started[0]!.says(Float32Array.of(0.5, 0.25, 0.75, 1));
    expect(answers).toEqual([[0.5], [0.25, 1], [0.75]]);
  });

  test("gets what was heard meanwhile once it has answered, and not before", async () => {
    const { clock, started, judges } = ready(1);
    judges[0]!.ask(WINDOW);
    await clock.advance(20);
    judges[0]!.ask(WINDOW);
    judges[0]!.forget();
    judges[0]!.ask(WINDOW);
    await clock.advance(100);
    expect(started[0]!.batches).toHaveLength(1);
    started[0]!.says(Float32Array.of(0));
    await clock.advance(20);
    expect(started[0]!.batches[1]).toMatchObject({ calls: [0, 0], forgets: [false, true] });
  });

  test("is not waited for: until it is ready, and when too much waits, the answer is null at once", () => {
    const { thread, started } = threads();
    const answers: (number | null)[] = [];
    const judge = thread.open((p) => answers.push(p));
    judge.ask(WINDOW);
    expect([judge.ready, answers]).toEqual([false, [null]]);
    started[0]!.says(null);
    expect(judge.ready).toBe(true);
    for (let n = 0; n < 7000; n++) judge.ask(WINDOW);
    expect(answers.length).toBe(1 + 1000);
  });

  test("that dies is replaced two seconds later, and whoever waits is told", async () => {
    const { clock, started, answers, judges } = ready(1);
    judges[0]!.ask(WINDOW);
    await clock.advance(20);
    judges[0]!.ask(WINDOW);
    started[0]!.dies();
    expect(answers).toEqual([[null, null]]);
    expect(judges[0]!.ready).toBe(false);
    await clock.advance(2000);
    expect(started).toHaveLength(2);
    started[1]!.says(null);
    judges[0]!.ask(WINDOW);
    await clock.advance(20);
    expect(started[1]!.batches).toMatchObject([{ calls: [0], forgets: [false] }]);
  });

  test("that answers nothing for two seconds is replaced", async () => {
    const { clock, started, answers, judges } = ready(1);
    judges[0]!.ask(WINDOW);
    await clock.advance(20);
    await clock.advance(2001);
    expect(answers).toEqual([[]]);
    judges[0]!.ask(WINDOW);
    expect(answers).toEqual([[null, null]]);
    await clock.advance(2000);
    expect(started).toHaveLength(2);
  });

  test("that never gets ready is given up after three times", async () => {
    const { clock, thread, started } = threads();
    thread.open(() => undefined);
    for (let n = 0; n < 5; n++) {
      started.at(-1)!.dies();
      await clock.advance(2000);
    }
    expect(started).toHaveLength(3);
    expect(thread.open(() => undefined).ready).toBe(false);
    expect(started).toHaveLength(3);
  });

  test("starts with the first call, not before, and not after it was closed", async () => {
    const { thread, started } = threads();
    expect(started).toHaveLength(0);
    await thread.close();
    thread.open(() => undefined);
    expect(started).toHaveLength(0);
  });

  test("judges by the installed model: silence is no voice", async () => {
    const thread = new SileroThread({ clock: systemClock, log, file: sileroFile()! });
    const { promise, resolve } = Promise.withResolvers<number | null>();
    const judge = thread.open(resolve);
    while (!judge.ready) await new Promise((wake) => setImmediate(wake));
    judge.ask(WINDOW);
    expect(await promise).toBeLessThan(0.1);
    await thread.close();
    expect(judge.ready).toBe(false);
  });

  test("is not asked for where the package is not installed", () => {
    expect(
      sileroFile(() => {
        throw new Error("Cannot find module");
      }),
    ).toBeNull();
    expect(sileroFile(() => "/nowhere/index.js")).toBeNull();
  });
});
