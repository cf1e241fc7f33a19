import { execFileSync } from "node:child_process";
import { setTimeout as wait } from "node:timers/promises";
import { roomProcesses } from "../../../harness/sessions/room-processes.ts";
import { connectDevTools, type DevTools } from "../../../real/browser/devtools.ts";
import { isRecord } from "../../../../shared/json.ts";
import { callsOf, endlessTemplate } from "../answered-calls.ts";
import { converse, hangUp } from "../concurrent-calls.ts";
import { startConversationProcess } from "../conversation-process.ts";
import { frameTicker } from "../frame-clock.ts";
import { startStubModels } from "../stub-models.ts";

const ANSWERED_EVERY_MS = 100;
const INSPECTOR = "http://127.0.0.1:9229/json/list";
const POLL_MS = 100;
const TRIES = 50;
const LAG = "process.getBuiltinModule('node:perf_hooks').monitorEventLoopDelay({ resolution: 5 })";
const CLOSE = "setTimeout(() => process.getBuiltinModule('node:inspector').close(), 20); 0";
const LAG_RESOLUTION_MS = 5;
const NS = 1e6;

/** What rooms at once came to. `workers`: the loop lag of each process of rooms, p99, ms. CPU in percent of a core, of the processes of rooms together; memory of one of them, MB. */
export interface RoomLoad {
  workers: number[];
  lag_p99_ms: number;
  cpu_percent: number;
  service_cpu_percent: number;
  rss_mb: number;
  answers: number[];
}

/** The inspector of a process, which opens at a signal, on one port for all of them. */
async function inspectorOf(pid: number): Promise<DevTools> {
  process.kill(pid, "SIGUSR1");
  for (let tries = 0; tries < TRIES; tries++) {
    const listed = (await fetch(INSPECTOR)
      .then((answer) => answer.json())
      .catch(() => null)) as unknown;
    const [first] = Array.isArray(listed) ? (listed as unknown[]) : [];
    if (isRecord(first)) return connectDevTools(String(first["webSocketDebuggerUrl"]));
    await wait(POLL_MS);
  }
  throw new Error(`process ${pid} opened no inspector`);
}

/** Evaluates something in a process. */
async function inside(pid: number, expression: string): Promise<number> {
  const tools = await inspectorOf(pid);
  const { result } = await tools.ask("Runtime.evaluate", { expression, returnByValue: true });
  await tools.ask("Runtime.evaluate", { expression: CLOSE });
  tools.close();
  await wait(POLL_MS);
  return isRecord(result) ? Number(result["value"]) : NaN;
}

/** Processor time so far, s, and memory, MB. */
function usedBy(pids: readonly number[]): { cpu: number; rss: number } {
  const lines = execFileSync("ps", ["-o", "cputimes=,rss=", "-p", pids.join()], { encoding: "utf8" })
    .trim()
    .split("\n");
  const each = lines.map((line) => line.trim().split(/\s+/).map(Number));
  return {
    cpu: each.reduce((sum, [cpu = 0]) => sum + cpu, 0),
    rss: each.reduce((sum, [, rss = 0]) => Math.max(sum, rss / 1024), 0),
  };
}

/** `count` sessions in rooms that talk for so long, ten in a process. */
export async function measureRooms(env: Record<string, string>, count: number, seconds: number): Promise<RoomLoad> {
  const models = await startStubModels();
  const talker = await startConversationProcess({ models: models.url, env });
  const ticker = frameTicker();
  const template = endlessTemplate([{ name: "talk", prompt: "Write down what they say.", functions: [] }]);
  try {
    await talker.template(template);
    const calls = await callsOf(talker, template, ticker, count, {
      listens: false,
      pause_ms: ANSWERED_EVERY_MS,
      sessions: true,
    });
    const pids = roomProcesses(talker.pid);
    for (const pid of pids) await inside(pid, `globalThis.lag = ${LAG}; lag.enable(); 0`);
    await talker.measure();
    const before = usedBy(pids);
    const began = performance.now();
    const answers: number[] = [];
    await Promise.all(calls.map((call, n) => converse(call, n, began + seconds * 1000, answers)));
    const after = usedBy(pids);
    const took = (performance.now() - began) / 1000;
    const { lag_p99_ms, cpu_percent } = await talker.measure();
    const workers: number[] = [];
    for (const pid of pids)
      workers.push(Math.max(0, (await inside(pid, `lag.percentile(99) / ${NS}`)) - LAG_RESOLUTION_MS));
    await hangUp(talker, calls);
    return {
      workers,
      lag_p99_ms,
      service_cpu_percent: cpu_percent,
      cpu_percent: ((after.cpu - before.cpu) / took) * 100,
      rss_mb: after.rss,
      answers,
    };
  } finally {
    await talker.stop();
    await models.close();
  }
}
