import { chance } from "../carriers/exchange/seeded-random.ts";
import { startBusProxy, type BusProxy } from "../harness/bus-proxy.ts";
import { brokenInvariants, quiet } from "../harness/invariants.ts";
import { startProduct } from "../harness/product.ts";
import { callee, startPushing, type Pusher } from "../harness/lead-pusher.ts";
import { after } from "../harness/stage.ts";
import { startTcpProxy, through, type TcpProxy } from "../harness/tcp-proxy.ts";
import { FAULTS, pick, type Lab } from "./faults.ts";
import { footprints, growths, type Footprint } from "./footprint.ts";

const MINUTE_MS = 60_000;
/** The faults have this share of the time; then it is calm, and growth is measured. */
const STORMY_SHARE = 0.6;
const PUSH_EVERY_MS = 300;
const FAULT_PAUSE_MS = { least: 1000, most: 6000 };
const SAMPLE_EVERY_MS = 5000;
const QUIET_MS = 300_000;
const CALLS_PER_SECOND = 50;
const PEOPLE = ["01", "04", "06", "08", "13", "01", "15", "16", "02", "07", "17", "09"];
/** More than this in the calm part is a leak: a process warms up for a while, so only long runs are judged by it. */
const LEAK = { mbPerHour: 60, handlesPerHour: 100, fromMinutes: 20 };
const ENV = {
  LEASE_SECONDS: "5",
  SWEEP_INTERVAL_MS: "500",
  SCHEDULER_INTERVAL_MS: "500",
  SHUTDOWN_GRACE_SECONDS: "10",
  PROVIDER_ONE_CALLS_PER_SECOND: String(CALLS_PER_SECOND),
  LOG_LEVEL: "info",
};

const say = (text: string): void => {
  console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);
};

interface Load {
  pushed: Promise<string>[];
  stop(): void;
  done: Promise<void>;
}

function push(pusher: Pusher): Load {
  const enough = new AbortController();
  const pushed: Promise<string>[] = [];
  const done = (async () => {
    for (let n = 0; !enough.signal.aborted; n++) {
      const taken = pusher.insist(callee(n, PEOPLE[n % PEOPLE.length] ?? "01"));
      taken.catch(() => undefined); // judged at the end
      pushed.push(taken);
      await after(PUSH_EVERY_MS);
    }
  })();
  return { pushed, done, stop: () => enough.abort() };
}

async function storm(lab: Lab, untilMs: number): Promise<void> {
  while (performance.now() < untilMs) {
    say(await pick(FAULTS, lab.random)(lab));
    await after(FAULT_PAUSE_MS.least + lab.random() * (FAULT_PAUSE_MS.most - FAULT_PAUSE_MS.least));
  }
  lab.bus.events(null);
  await lab.product.injectFault(null);
  await lab.store.heal();
  await lab.carrier.heal();
}

async function calm(lab: Lab, untilMs: number): Promise<Footprint[]> {
  const samples: Footprint[] = [];
  const from = performance.now() + (untilMs - performance.now()) / 3; // what was cached and compiled meanwhile is no growth
  while (performance.now() < untilMs) {
    await after(SAMPLE_EVERY_MS);
    if (performance.now() > from) samples.push(...footprints(lab.product));
  }
  return samples;
}

function showGrowth(samples: readonly Footprint[], minutes: number): string[] {
  const all = growths(samples);
  for (const g of all)
    say(
      `${g.child.padEnd(16)} ${g.rssMb.toFixed(0).padStart(5)} MB  ${g.mbPerHour.toFixed(0).padStart(6)} MB/h   ${String(g.handles).padStart(5)} handles ${g.handlesPerHour.toFixed(0).padStart(6)}/h`,
    );
  if (minutes < LEAK.fromMinutes) return [];
  return all
    .filter((g) => g.mbPerHour > LEAK.mbPerHour || g.handlesPerHour > LEAK.handlesPerHour)
    .map((g) => `${g.child} grows by ${g.mbPerHour.toFixed(0)} MB and ${g.handlesPerHour.toFixed(0)} handles an hour`);
}

async function soak(minutes: number, seed: string): Promise<string[]> {
  let drawn = 0;
  const random = (): number => chance(seed, drawn++);
  say(`seed ${seed}, ${minutes} minutes`);
  const proxies: { store?: TcpProxy; carrier?: TcpProxy; bus?: BusProxy } = {};
  const product = await startProduct({
    split: true,
    env: ENV,
    timeScale: 20,
    replicas: { scheduler: 2, dialer: 2, leads: 2, conversation: 2 },
    between: {
      store: async (url) => through((proxies.store = await startTcpProxy(url)), url),
      carrier: async (url) => through((proxies.carrier = await startTcpProxy(url)), url),
      bus: (url, child) => (proxies.bus ??= startBusProxy(url)).urlFor(child),
    },
  });
  try {
    const { store, carrier, bus } = proxies;
    if (!store || !carrier || !bus) throw new Error("the stack was started without its proxies");
    const lab: Lab = { product, store, carrier, bus, random };
    const began = performance.now();
    const load = push(await startPushing(product));
    await storm(lab, began + minutes * MINUTE_MS * STORMY_SHARE);
    say("calm");
    const samples = await calm(lab, began + minutes * MINUTE_MS);
    load.stop();
    await load.done;
    const taken = await Promise.allSettled(load.pushed);
    const evidence = await quiet(product, { quietMs: QUIET_MS });
    const ids = new Set(evidence.leads.map((l) => l._id));
    const outcomes = Object.fromEntries(
      [...Map.groupBy(evidence.leads, (l) => l.outcome ?? l.status)].map(([word, of]) => [word, of.length]),
    );
    say(
      `${load.pushed.length} leads pushed, ${evidence.calls.length} calls, ${evidence.delivered.length} reports; ${JSON.stringify(outcomes)}`,
    );
    return [
      ...taken.filter((t) => t.status === "fulfilled" && !ids.has(t.value)).map(() => "a lead that was taken is gone"),
      ...taken.filter((t) => t.status === "rejected").map((t) => `a push was never taken: ${String(t.reason)}`),
      ...brokenInvariants(evidence, { callsPerSecond: CALLS_PER_SECOND }),
      ...showGrowth(samples, minutes),
    ];
  } finally {
    await product.stop();
    for (const proxy of Object.values(proxies)) await proxy.close();
  }
}

/** A split stack under steady pushes and random faults, then calm, and everything that must hold; the exit status. */
export async function soakProduct(minutes: number, seed: string): Promise<number> {
  const faults = await soak(minutes, seed).catch((error: unknown) => [
    error instanceof Error ? (error.stack ?? error.message) : String(error),
  ]);
  for (const fault of faults) say(`BROKEN ${fault}`);
  say(faults.length === 0 ? "everything held" : `${faults.length} faults; repeat with --seed ${seed}`);
  return faults.length === 0 ? 0 : 1;
}
