import { quantile } from "../figures.ts";
import type { Parked } from "./latency.ts";
import { seedLeads, startWorld, type Tenant, type World } from "./bench-world.ts";

/** For how long the quiet tenant is watched, and the equal ones. */
export interface FairOptions {
  quietSeconds: number;
  equalSeconds: number;
}

const AHEAD_MS = 5000;
const QUIET_SLOTS = 10;
const EQUAL_TENANTS = 10;
/** Equal tenants share an account of so many calls a second, or the machine itself would be what everybody waits for. */
const CALLS_PER_SECOND = 50;
const DEADLINE_MS = 30_000;
const POLL_MS = 50;

const wait = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Row "quiet tenant": one lead a second beside a tenant whose whole backlog may be called now. */
export async function benchQuiet({ world, closed, parked }: Parked, o: FairOptions): Promise<void> {
  const quiet = await world.tenant(1, QUIET_SLOTS);
  await seedLeads(world, closed, Math.floor(parked / 2), () => new Date(Date.now() - 1000), { keep: false });
  await Promise.all(
    closed.queues.map((q) =>
      world.client.ask("PUT", "/configurations/{config_id}", {
        path: { config_id: q.configuration_id },
        body: { call_start_time: "00:00", call_end_time: "00:00" },
      }),
    ),
  );
  const [began, before] = [Date.now(), world.recorder.dialled.size];
  const first = began + AHEAD_MS;
  const due = await seedLeads(world, quiet, o.quietSeconds, (n) => new Date(first + n * 1000));
  const end = first + o.quietSeconds * 1000 + DEADLINE_MS;
  while ([...due.keys()].some((id) => !world.recorder.dialled.has(id)) && Date.now() < end) await wait(POLL_MS);
  const waits = [...due].map(([id, at]) => (world.recorder.dialled.get(id) ?? Number.POSITIVE_INFINITY) - at);
  const loud = (world.recorder.dialled.size - before - due.size) / ((Date.now() - began) / 1000);
  console.log(
    `quiet tenant, 1 lead/s for ${o.quietSeconds} s beside one with ${parked.toLocaleString("en")} leads due in ${closed.queues.length} queues (which got ${Math.round(loud)} calls/s meanwhile): wait p50 ${quantile(waits, 0.5)} ms, p99 ${quantile(waits, 0.99)} ms, longest ${Math.max(...waits)} ms (at most 1,000)`,
  );
}

async function counted(
  world: World,
  tenants: readonly (Tenant & { due: Map<string, number> })[],
  seconds: number,
): Promise<number[]> {
  await wait(AHEAD_MS);
  const count = (): number[] =>
    tenants.map(({ due }) => [...due.keys()].filter((id) => world.recorder.dialled.has(id)).length);
  const before = count();
  await wait(seconds * 1000);
  return count().map((n, i) => n - (before[i] ?? 0));
}

/** Jain's index of ten tenants with the same backlog: 1 when all got the same. */
export async function benchEqual(o: FairOptions): Promise<void> {
  const world = await startWorld({ env: { PROVIDER_ONE_CALLS_PER_SECOND: String(CALLS_PER_SECOND) } });
  const tenants: (Tenant & { due: Map<string, number> })[] = [];
  const each = CALLS_PER_SECOND * (o.equalSeconds + (3 * AHEAD_MS) / 1000);
  for (let i = 0; i < EQUAL_TENANTS; i++) {
    const tenant = await world.tenant(1, CALLS_PER_SECOND);
    tenants.push({ ...tenant, due: await seedLeads(world, tenant, each, () => new Date(Date.now() - 1000)) });
  }
  const got = await counted(world, tenants, o.equalSeconds);
  const sum = got.reduce((a, b) => a + b, 0);
  const jain = sum ** 2 / (got.length * got.reduce((a, b) => a + b * b, 0));
  console.log(
    `${EQUAL_TENANTS} equal tenants for ${o.equalSeconds} s at ${CALLS_PER_SECOND} calls/s: ${got.join(", ")} calls; Jain's index ${jain.toFixed(3)} (at least 0.95)`,
  );
  await world.stop();
}
