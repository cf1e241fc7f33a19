import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../tools/stack/ports.ts";
import { script } from "../../tools/stack/project-root.ts";
import { startChild, type Child } from "../../tools/stack/supervisor.ts";
import { runHostileClients, type HostileResult } from "./hostile-run.ts";

const MINUTE_MS = 60_000;
const CLIENTS = 8;
const KB_PER_MB = 1024;
const SAMPLE_MS = 500;
const STOP_MS = 5000;
/** What is promised. Commands may hold 300 MB of documents together; in memory they take several times their bytes. */
const PROMISE = { p99Ms: 100, rssMb: 2048 };

/** Resident memory of a process in megabytes; undefined where there is no /proc, or when it has just ended. */
function rssMb(child: Child): number | undefined {
  try {
    const [, kb] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid() ?? 0}/status`, "utf8")) ?? [];
    return kb === undefined ? undefined : Number(kb) / KB_PER_MB;
  } catch {
    return undefined;
  }
}

function show(result: HostileResult): void {
  for (const kind of ["valid", "invalid", "hostile", "heavy"]) {
    console.log(`${kind}:`);
    for (const [command, answers] of result.answers) {
      if (command.kind !== kind) continue;
      const counts = [...answers].sort((a, b) => b[1] - a[1]).map(([answer, n]) => `${answer} ${n}`);
      const slowest = `${((result.slowestMs.get(command) ?? 0) / 1000).toFixed(1)} s`;
      console.log(`  ${command.name.padEnd(38)} ${slowest.padStart(7)}  ${counts.join(", ")}`);
    }
  }
}

async function soak(minutes: number, seed: string): Promise<string[]> {
  const dir = mkdtempSync(join(tmpdir(), "callagent-store-soak-"));
  const deaths: string[] = [];
  const store = await startChild({
    name: "store",
    args: [script("store/main.ts"), "--port", String(await freePort()), "--dir", dir],
    env: {},
    ready: "line",
    restart: true,
    onLine: () => undefined,
    onDeath: (reason) => deaths.push(reason),
  });
  const rss: number[] = [];
  const sample = setInterval(() => rss.push(...[rssMb(store) ?? []].flat()), SAMPLE_MS);
  try {
    console.log(`seed ${seed}, ${minutes} minutes, load ${loadavg()[0]?.toFixed(1)}`);
    const ends = performance.now() + minutes * MINUTE_MS;
    const result = await runHostileClients({
      url: store.url,
      seed,
      clients: CLIENTS,
      more: () => performance.now() < ends,
    });
    show(result);
    const took = result.witness.tookMs.toSorted((a, b) => a - b);
    const at = (share: number): number => took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? 0;
    const most = Math.max(0, ...rss);
    console.log(
      `ninth client: ${took.length} operations, p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms, max ${at(1).toFixed(0)} ms; ${result.witness.faults.length} faults`,
    );
    console.log(
      `store: ${deaths.length} restarts; memory ${rss[0]?.toFixed(0)} MB at the start, ${rss.at(-1)?.toFixed(0)} MB at the end, ${most.toFixed(0)} MB at most; load ${loadavg()[0]?.toFixed(1)}`,
    );
    return [
      ...result.faults,
      ...deaths.map((reason) => `the store was restarted: ${reason}`),
      ...(at(0.99) > PROMISE.p99Ms ? [`p99 of the ninth client is above ${PROMISE.p99Ms} ms`] : []),
      ...(most > PROMISE.rssMb ? [`the store took more than ${PROMISE.rssMb} MB`] : []),
    ];
  } finally {
    clearInterval(sample);
    await store.stop(STOP_MS);
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Eight hostile clients on the embedded store, and a ninth that must not notice; the exit status. */
export async function soakStore(minutes: number, seed: string): Promise<number> {
  const faults = await soak(minutes, seed).catch((error: unknown) => [
    error instanceof Error ? (error.stack ?? error.message) : String(error),
  ]);
  for (const fault of faults.slice(0, 50)) console.log(`BROKEN ${fault}`);
  console.log(faults.length === 0 ? "everything held" : `${faults.length} faults; repeat with --seed ${seed}`);
  return faults.length === 0 ? 0 : 1;
}
