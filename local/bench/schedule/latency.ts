import { lineOf, median, quantile, type Figures } from "../figures.ts";
import { startBullmq } from "./peer-queues.ts";
import { seedLeads, startWorld, type Tenant, type World } from "./bench-world.ts";

/** What is measured: this many leads a second, for so long, so often. */
export interface LatencyOptions {
  perSecond: number;
  seconds: number;
  rounds: number;
  parked: number;
  few: number;
}

const BUSY_QUEUES = 10;
const PARKED_QUEUES = 100;
const SLOTS = 200;
/** The tenant of the backlog has few lines: when its window opens (fairness.ts), they and not this machine bound how fast it dials. */
const CLOSED_SLOTS = 10;
/** Leads are written this long before the first of them is due. */
const AHEAD_MS = 3000;
const DEADLINE_MS = 60_000;
const POLL_MS = 50;
const HOUR_MS = 3_600_000;
const A_DAY_MS = 24 * HOUR_MS;

const wait = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
const hhmm = (ms: number): string => new Date(ms).toISOString().slice(11, 16);

/** A world with a backlog: half of it was due long ago in queues whose calling window is shut, half is due tomorrow, also in the queues that are served. */
export interface Parked {
  world: World;
  busy: Tenant;
  closed: Tenant;
  parked: number;
}

/** Makes one, whose services are those of `tree`; absent: of this one. The closed window can be opened for another row. */
export async function parkedWorld(parked: number, env: Record<string, string> = {}, tree?: string): Promise<Parked> {
  const world = await startWorld({ env, ...(tree === undefined ? {} : { treeOf: () => tree }) });
  const busy = await world.tenant(BUSY_QUEUES, SLOTS);
  const closed = await world.tenant(PARKED_QUEUES, CLOSED_SLOTS, {
    call_start_time: hhmm(Date.now() + 10 * HOUR_MS),
    call_end_time: hhmm(Date.now() + 11 * HOUR_MS),
  });
  const began = performance.now();
  const tomorrow = Date.now() + A_DAY_MS;
  await seedLeads(world, closed, Math.ceil(parked / 2), (n) => new Date(Date.now() - HOUR_MS + (n % HOUR_MS)), {
    keep: false,
  });
  await seedLeads(
    world,
    { ...closed, queues: [...closed.queues, ...busy.queues] },
    Math.floor(parked / 2),
    (n) => new Date(tomorrow + n),
    { keep: false },
  );
  console.log(
    `${parked.toLocaleString("en")} leads parked in ${PARKED_QUEUES + BUSY_QUEUES} queues, written in ${Math.round((performance.now() - began) / 1000)} s`,
  );
  return { world, busy, closed, parked };
}

/** One round: how long after their due time the carrier was asked, milliseconds, of each lead. */
export async function lateness(
  { world, busy }: Pick<Parked, "world" | "busy">,
  { perSecond, seconds }: LatencyOptions,
): Promise<number[]> {
  world.recorder.clear();
  const count = perSecond * seconds;
  const first = Date.now() + AHEAD_MS;
  const due = await seedLeads(world, busy, count, (n) => new Date(first + (n * 1000) / perSecond));
  const { dialled } = world.recorder;
  const end = first + seconds * 1000 + DEADLINE_MS;
  const missing = (): number => [...due.keys()].reduce((sum, id) => (dialled.has(id) ? sum : sum + 1), 0);
  while (missing() > 0 && Date.now() < end) await wait(POLL_MS);
  if (missing() > 0)
    throw new Error(
      `only ${count - missing()} of ${count} leads were dialled within ${DEADLINE_MS / 1000} s of the last one's time`,
    );
  return [...due].map(([id, at]) => (dialled.get(id) ?? 0) - at);
}

/** Rows "due -> carrier request" with much and with little parked, beside BullMQ's delayed jobs. */
export async function benchLatency(o: LatencyOptions, many: Parked): Promise<void> {
  const few = await parkedWorld(o.few);
  const bullmq = await startBullmq();
  console.log(bullmq.version);
  const figures = (name: string): [Figures, Figures] => [
    { name: `${name}, p50`, rounds: [] },
    { name: `${name}, p99`, rounds: [] },
  ];
  const [ours, small, theirs] = [
    figures(`${o.parked.toLocaleString("en")} parked`),
    figures(`${o.few.toLocaleString("en")} parked`),
    figures(bullmq.name),
  ];
  const note = ([p50, p99]: [Figures, Figures], late: readonly number[]): void => {
    p50.rounds.push(quantile(late, 0.5));
    p99.rounds.push(quantile(late, 0.99));
  };
  for (const world of [many, few]) await lateness(world, o);
  await bullmq.late(o.perSecond * o.seconds, o.perSecond);
  for (let i = 0; i < o.rounds; i++) {
    note(ours, await lateness(many, o));
    note(theirs, await bullmq.late(o.perSecond * o.seconds, o.perSecond));
    note(small, await lateness(few, o));
  }
  console.log(`due -> carrier request, ${o.perSecond} leads/s for ${o.seconds} s, ${o.rounds} rounds`);
  console.log([...ours, ...small, ...theirs].map((f) => lineOf(f, undefined, "ms")).join("\n"));
  console.log(
    `p99 against BullMQ's: ${(median(ours[1].rounds) / median(theirs[1].rounds)).toFixed(2)}; much parked against little: p99 ${(median(ours[1].rounds) / median(small[1].rounds)).toFixed(2)}, p50 ${(median(ours[0].rounds) / median(small[0].rounds)).toFixed(2)}`,
  );
  console.log(`second requests for a lead: ${many.world.recorder.again() + few.world.recorder.again()}`);
  await Promise.all([few.world.stop(), bullmq.stop()]);
}
