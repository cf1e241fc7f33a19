import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import type { AskedBench } from "../../commands.ts";
import { ROOT } from "../../tools/stack/project-root.ts";
import { lineOf, median, quantile, type Figures } from "../figures.ts";
import { startWorld, type Tenant, type World } from "./bench-world.ts";
import { lateness } from "./latency.ts";

/** Leads a second of the tenant that is watched, for so many seconds, alone and beside the other in turn. */
const RUN = { perSecond: 4, seconds: 12, rounds: 4, parked: 0, few: 0 };
/** Pushes a second of the largest legal size, by the other tenant: each of these rates is measured. */
const LARGE_PER_SECOND = [1, 4];
const REPLICAS = {
  scheduler: 2,
  dialer: 2,
  leads: 2,
  conversation: 2,
  config: 2,
  numbers: 2,
  blacklist: 2,
  merchants: 2,
  auth: 2,
  webhook: 2,
};
const QUEUES = 5;
const SLOTS = 200;
/** A payload is 256 KiB of JSON at most; this leaves room for its other fields. */
const LARGE_BYTES = 261_000;
/** The other tenant's p99 may be as many times its figure alone. */
const MOST_TIMES = 1.5;
const ENDED_MS = 120_000;
const POLL_MS = 250;
const SECOND_MS = 1000;

const wait = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Pushes the largest legal leads until it is told to stop; the ids of those that were taken. */
function pushLarge({ client }: World, { queues, reseller_id, merchant_id }: Tenant, perSecond: number) {
  const enough = new AbortController();
  const pushes: Promise<string | null>[] = [];
  const one = async (n: number): Promise<string | null> => {
    const body = {
      request_id: randomUUID(),
      template_id: queues[n % queues.length]?.template_id ?? "",
      reseller_id,
      merchant_id,
      payload: {
        customer_mobile_number: `+1212${3_000_000 + n}`,
        customer_name: "Ada",
        order_id: "NW-1",
        amount: "10.00",
        delivery_date: "Monday",
        notes: "x".repeat(LARGE_BYTES),
      },
    };
    try {
      return (await client.ask("POST", "/leads", { body })).lead_call_tracker_id;
    } catch (error) {
      console.log(`  a large push was not taken: ${String(error).slice(0, 160)}`);
      return null;
    }
  };
  const load = (async () => {
    while (!enough.signal.aborted) {
      pushes.push(one(pushes.length));
      await wait(SECOND_MS / perSecond);
    }
  })();
  return async (): Promise<string[]> => {
    enough.abort();
    await load;
    return (await Promise.all(pushes)).filter((id) => id !== null);
  };
}

/** How many of these leads were not dialled before they ended, or have not ended in time. */
async function lostOf(world: World, ids: readonly string[]): Promise<{ unfinished: number; undialled: number }> {
  const open = () => world.leads.countDocuments({ _id: { $in: [...ids] }, status: { $ne: "FINISHED" } });
  const end = Date.now() + ENDED_MS;
  while ((await open()) > 0 && Date.now() < end) await wait(POLL_MS);
  return {
    unfinished: await open(),
    undialled: await world.leads.countDocuments({ _id: { $in: [...ids] }, status: "FINISHED", attempt_count: 0 }),
  };
}

/**
 * `npm run bench -- mixed [--tree=<folder>]`: two replicas of each service; due → dial of one tenant beside another one's largest pushes, and alone. With a tree half of the replicas are of
 * that version.
 */
export async function benchMixed({ values: { tree } }: AskedBench): Promise<void> {
  const treeOf = (child: string): string => (tree !== undefined && child.endsWith("-2") ? resolve(tree) : ROOT);
  const world = await startWorld({ split: true, replicas: REPLICAS, treeOf });
  try {
    const [busy, large] = [await world.tenant(QUEUES, SLOTS), await world.tenant(QUEUES, SLOTS)];
    const alone: Figures = { name: "alone, p99", rounds: [] };
    const beside = LARGE_PER_SECOND.map((perSecond) => ({
      perSecond,
      figures: { name: `beside ${perSecond} large pushes a second, p99`, rounds: [] } as Figures,
    }));
    const ids: string[] = [];
    await lateness({ world, busy }, RUN);
    for (let i = 0; i < RUN.rounds; i++) {
      alone.rounds.push(quantile(await lateness({ world, busy }, RUN), 0.99));
      for (const { perSecond, figures } of beside) {
        const stop = pushLarge(world, large, perSecond);
        figures.rounds.push(quantile(await lateness({ world, busy }, RUN), 0.99));
        ids.push(...(await stop()));
      }
    }
    console.log([alone, ...beside.map(({ figures }) => figures)].map((f) => lineOf(f, undefined, "ms")).join("\n"));
    for (const { perSecond, figures } of beside) {
      const ratio = median(figures.rounds) / median(alone.rounds);
      const said = ratio <= MOST_TIMES ? "met" : "NOT met";
      console.log(`beside ${perSecond} a second / alone: ${ratio.toFixed(2)}; at most ${MOST_TIMES}: ${said}`);
    }
    const { unfinished, undialled } = await lostOf(world, ids);
    console.log(
      `${ids.length} leads of ${LARGE_BYTES} bytes: ${unfinished} not finished, ${undialled} ended undialled`,
    );
  } finally {
    await world.stop();
  }
}
