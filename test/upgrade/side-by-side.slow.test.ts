import { execFileSync } from "node:child_process";
import { invariants } from "../../local/harness/invariants.ts";
import { callee, startPushing, type Pusher } from "../../local/harness/lead-pusher.ts";
import { previousTree, type PreviousTree } from "../../local/harness/previous-version.ts";
import { REPLICAS_ENV, startProduct, type Product } from "../../local/harness/product.ts";
import { after, until } from "../../local/harness/stage.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";

/** An upgrade without a stop: processes of the previous version and of this one on one bus and one database, replaced under load, there and back. */
const START_MS = 150_000;
const TEST_MS = 300_000;
const QUIET_MS = 150_000;
const PUSH_EVERY_MS = 150;
/** What the callees do: not there, confirms at once, asks first, talks over, busy, the line drops. */
/** What else than a good end those may come to whom nobody names as the one who ended the call: who hangs up at once, and whose line drops in mid-talk. */
const MAY_FAIL = ["04 failed", "17 failed", "17 call_error"];
const CROWD = ["10", "01", "11", "12", "06", "17", "01", "04"];

let previous: PreviousTree;
let product: Product;
let pusher: Pusher;
/** The children that run the previous version; all others run this one. */
const old = new Set<string>();
let numbers = 0;

beforeAll(async () => {
  previous = await previousTree();
  const first = ["merchants", "blacklist", "numbers", "config", "leads", "webhook", "auth", "gateway"];
  for (const name of [...first, "conversation", "dialer", "scheduler", "dialer-2", "scheduler-2", "leads-2"])
    old.add(name);
  product = await startProduct({
    split: true,
    // more than is pushed: every call takes a permit, of a scheduler of either version
    env: { ...REPLICAS_ENV, PROVIDER_ONE_CALLS_PER_SECOND: "20" },
    timeScale: 40,
    replicas: { scheduler: 2, dialer: 2, leads: 2 },
    treeOf: (child) => (old.has(child) ? previous.root : ROOT),
  });
  pusher = await startPushing(product);
}, START_MS);
afterAll(async () => {
  await product?.stop();
  previous?.remove();
}, START_MS);

const child = (name: string) =>
  product.stack.children.get(name) ??
  (() => {
    throw new Error(`no child ${name}`);
  })();

/** What the system says that a child runs. */
const commandOf = (name: string): string =>
  execFileSync("ps", ["-o", "args=", "-p", String(child(name).pid())], { encoding: "utf8" });

/** All services answer. */
const ready = (): Promise<true> =>
  until(
    "all services to answer",
    async () => (await fetch(`${product.stack.httpUrl}/health/ready`).catch(() => null))?.ok || undefined,
    QUIET_MS,
  );

async function replace(name: string, by: "old" | "new"): Promise<void> {
  // a dialer of 0.2.0 forgets on its way out the slots that it could not give back, and numbers may be away just then
  if (old.has(name) && name.startsWith("dialer")) await ready();
  await child(name).down("SIGTERM");
  if (by === "old") old.add(name);
  else old.delete(name);
  await child(name).up();
}

/** Pushes leads all the time while `work` is done; their ids. */
async function underLoad(work: () => Promise<void>): Promise<string[]> {
  const enough = new AbortController();
  const pushed: Promise<string>[] = [];
  const load = (async () => {
    while (!enough.signal.aborted) {
      pushed.push(pusher.insist(callee(numbers, CROWD[numbers++ % CROWD.length] ?? "06")));
      await after(PUSH_EVERY_MS);
    }
  })();
  await work();
  enough.abort();
  await load;
  return Promise.all(pushed);
}

/** Every lead ended with one outcome for which a phone was tried, and all invariants hold. */
async function judge(ids: readonly string[]): Promise<void> {
  const { leads } = await invariants(product, [], { callsPerSecond: 0, quietMs: QUIET_MS });
  const of = new Map(leads.map((lead) => [lead._id, lead]));
  expect(ids.filter((id) => of.get(id)?.status !== "FINISHED")).toEqual([]);
  expect(ids.filter((id) => (of.get(id)?.attempt_count ?? 0) === 0)).toEqual([]);
  const failed = ids.flatMap((id) => {
    const { outcome, phone_number } = of.get(id) ?? {};
    return outcome === "call_error" || outcome === "failed" ? [`${phone_number?.slice(-2)} ${outcome}`] : [];
  });
  expect(failed.filter((one) => !MAY_FAIL.includes(one))).toEqual([]);
}

test(
  "from the previous version to this one and back, one process after the other, under load",
  async () => {
    const names = [...product.stack.serviceChildren];
    expect(names.filter((name) => !commandOf(name).includes(previous.root))).toEqual([]);
    const ids = await underLoad(async () => {
      for (const name of names) {
        await replace(name, "new");
        await after(300);
      }
      for (const name of names.filter((_, i) => i % 2 === 0)) await replace(name, "old");
      await after(3000);
      for (const name of names.filter((_, i) => i % 2 === 0)) await replace(name, "new");
    });
    expect(names.filter((name) => commandOf(name).includes(previous.root))).toEqual([]);
    expect(ids.length).toBeGreaterThan(50);
    await judge(ids);
  },
  TEST_MS,
);
