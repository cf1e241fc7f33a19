import { monitorEventLoopDelay } from "node:perf_hooks";

/** The resolution of loop lag; reported lag has it subtracted. */
const LAG_RESOLUTION_MS = 5;
/** The file descriptor of the channel by which a process of rooms is asked (watched-rooms.ts): behind those that the service itself gives it. */
export const PROBE_FD = 4;

/** What a process was like since it was asked last. */
export interface ProcessLoad {
  cpu_percent: number;
  rss_mb: number;
  lag_p50_ms: number;
  lag_p99_ms: number;
  lag_max_ms: number;
}

const MB = 2 ** 20;
const PERCENT = 100;
const US_PER_MS = 1000;
const nsToMs = (ns: number): number => Math.max(0, ns / 1e6 - LAG_RESOLUTION_MS);

/** Measures this process, native threads included, from the last time that it was asked. */
export function loadMeter(): () => ProcessLoad {
  const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  lag.enable();
  let cpu = process.cpuUsage();
  let since = performance.now();
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    const load = {
      cpu_percent: ((user + system) / US_PER_MS / (performance.now() - since)) * PERCENT,
      rss_mb: process.memoryUsage.rss() / MB,
      lag_p50_ms: nsToMs(lag.percentile(50)),
      lag_p99_ms: nsToMs(lag.percentile(99)),
      lag_max_ms: nsToMs(lag.max),
    };
    lag.reset();
    cpu = process.cpuUsage();
    since = performance.now();
    return load;
  };
}
