import { lineOf, median, type Figures } from "../figures.ts";
import { seedLeads, startWorld, type World } from "./bench-world.ts";

/** How many leads are claimed by the process that dies, and how often that is tried. */
export interface FaultOptions {
  leads: number;
  rounds: number;
}

const QUEUES = 4;
const SLOTS = 100;
const DEADLINE_MS = 90_000;
const POLL_MS = 50;
const ALL_UP_MS = 10_000;

const wait = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

async function reached(what: string, done: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + DEADLINE_MS;
  while (!(await done())) {
    if (performance.now() > end) throw new Error(`waited ${DEADLINE_MS / 1000} s in vain for ${what}`);
    await wait(POLL_MS);
  }
}

/** Kills itself right after its claims, before anything is handed over (K1); seconds from there until the carrier was asked for the last of the leads it had claimed. */
async function killed(
  world: World,
  child: string,
  others: readonly string[],
  deaths: () => number,
  leads: number,
): Promise<number> {
  const tenant = await world.tenant(QUEUES, SLOTS);
  world.recorder.clear();
  for (const name of [child, ...others]) await world.stack.children.get(name)?.down("SIGKILL");
  const due = await seedLeads(world, tenant, leads, () => new Date(Date.now() - 1000));
  const before = deaths();
  await world.stack.children.get(child)?.up({ CRASH_AT: "K1" });
  await reached(`${child} to kill itself`, () => deaths() > before);
  const died = Date.now();
  const claimed = await world.leads
    .find({ _id: { $in: [...due.keys()] }, status: "PROCESSING" }, { projection: { _id: 1 } })
    .toArray();
  if (claimed.length === 0) throw new Error(`${child} died without a claim`);
  await Promise.all(others.map((name) => world.stack.children.get(name)?.up()));
  await reached("all leads to be dialled", () => world.recorder.dialled.size === leads);
  if (world.recorder.again() > 0) throw new Error(`${world.recorder.again()} leads were dialled twice`);
  const last = Math.max(...claimed.map(({ _id }) => world.recorder.dialled.get(_id) ?? 0));
  console.log(
    `  ${claimed.length} of ${leads} leads were claimed when ${child} died; the last of them was dialled after ${((last - died) / 1000).toFixed(1)} s`,
  );
  return (last - died) / 1000;
}

/** Row "SIGKILL of a scheduler -> its claimed leads move on elsewhere", and the same for a process that runs all services. */
export async function benchFaults(o: FaultOptions): Promise<void> {
  const one: Figures = { name: "all services in the process", rounds: [] };
  const two: Figures = { name: "one of two schedulers", rounds: [] };
  let deaths = 0;
  const onDeath = (): void => {
    deaths++;
  };
  const whole = await startWorld({ onDeath });
  for (let i = 0; i < o.rounds; i++) one.rounds.push(await killed(whole, "services", [], () => deaths, o.leads));
  await whole.stop();
  const split = await startWorld({ split: true, replicas: { scheduler: 2 }, onDeath });
  await wait(ALL_UP_MS);
  for (let i = 0; i < o.rounds; i++)
    two.rounds.push(await killed(split, "scheduler", ["scheduler-2"], () => deaths, o.leads));
  await split.stop();
  console.log(
    `SIGKILL right after the claim -> carrier asked, LEASE_SECONDS 30, worst lead of each round (at most 35 s): ${median(two.rounds) <= 35 ? "held" : "NOT held"}`,
  );
  console.log([lineOf(two, undefined, "s"), lineOf(one, undefined, "s")].join("\n"));
}
