import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../shared/contracts/records/models.ts";
import type { Provider } from "../../shared/contracts/records/configuration.ts";
import { startBusProxy, type BusProxy } from "../harness/bus-proxy.ts";
import { freePort } from "../tools/stack/ports.ts";
import { startMediaBalancer } from "./media-balancer.ts";
import { callee, startPushing, type Pusher } from "../harness/lead-pusher.ts";
import { campaignOf, startProduct, type LedgerCall, type Product, type ProductOptions } from "../harness/product.ts";
import { until } from "../harness/stage.ts";
import { startTcpProxy, through, type TcpProxy } from "../harness/tcp-proxy.ts";
import { script } from "../tools/stack/project-root.ts";
import { leadByApi, leadOf, type Witnesses } from "./judge.ts";

/** How a scene is set. Seconds are real ones; `timeScale`: how much faster than life people and carriers are. */
export interface SceneOptions {
  timeScale: number;
  leaseSeconds: number;
  provider: Provider;
  /** The pipeline of conversations; absent: the carrier's text relay. */
  engine?: Engine;
  /** Variables of the services beside the scene's own. */
  env?: Record<string, string>;
  /** Processes of a service beyond one, beside two dialers. */
  replicas?: NonNullable<ProductOptions["replicas"]>;
  /** Two processes lead conversations, and carriers reach them through a balancer that asks for readiness. */
  balanced?: boolean;
  /** The wall clocks of store and services can be set. */
  clocks?: boolean;
  /** The tree that the services run from; absent: this one. */
  tree?: string;
  say(line: string): void;
}

/** The split product with proxies before bus and database, a client that pushes, and witnesses from outside. */
export interface Scene {
  product: Product;
  pusher: Pusher;
  store: TcpProxy;
  say(line: string): void;
  /** The leads that were pushed. */
  ids: readonly string[];
  /** Bus server and every connection to it gone, or back. */
  bus(there: boolean): Promise<void>;
  /** Sets wall clocks: by so many ms away from the true time, by the names of services, `store`, or `all`; what is not named is right. */
  setClocks(steps: Readonly<Record<string, number>>): void;
  /** Leads whose conversation ends like this are called again a second later. */
  callAgainAfter(outcome: string): Promise<void>;
  /** Pushes leads whose callees behave like this; their ids. */
  push(who: string, count: number): Promise<string[]>;
  /** Waits until so many conversations are under way; the carrier's names of them. */
  talking(count: number): Promise<Set<string>>;
  /** Waits until these calls are over or so many milliseconds have passed. */
  over(sids: ReadonlySet<string>, limitMs: number): Promise<void>;
  /** What the witnesses say once every lead is finished and every call over, or at the end of patience. */
  witnesses(): Promise<Witnesses>;
  end(): Promise<void>;
}

const PATIENCE_MS = 150_000;
const POLL_MS = 200;

const isLive = ({ ended_at }: LedgerCall): boolean => ended_at === null;

/** The eyes of a scene: the carrier's ledger and the API. `ids`: the leads that were pushed. */
function observers(
  product: Product,
  pusher: Pusher,
  ids: readonly string[],
): Pick<Scene, "talking" | "over" | "witnesses"> {
  const ledger = (): Promise<LedgerCall[]> => product.ledgerCalls();
  const leads = () => Promise.all(ids.map((id) => leadByApi(pusher.client, id)));
  return {
    async talking(count) {
      const live = await until(
        `${count} conversations`,
        async () => {
          // an answered call is no conversation before its media have joined
          const begun = new Set(
            product.log.filter(({ event }) => event === "talk.started").map((line) => line["lead_id"]),
          );
          const found = (await ledger()).filter((c) => isLive(c) && begun.has(leadOf(c)));
          return found.length >= count ? found : undefined;
        },
        PATIENCE_MS,
        POLL_MS,
      );
      return new Set(live.map(({ sid }) => sid));
    },
    async over(sids, limitMs) {
      await until(
        "the calls to end",
        async () => !(await ledger()).some((c) => sids.has(c.sid) && isLive(c)) || undefined,
        limitMs,
        POLL_MS,
      ).catch(() => undefined);
    },
    async witnesses() {
      const quiet = async (): Promise<Witnesses> => ({
        calls: await ledger(),
        leads: await leads(),
        reported: new Set(product.sink.reports.keys()),
      });
      return until(
        "quiet",
        async () => {
          const seen = await quiet();
          const over = seen.leads.every(({ lead_id, status }) => status === "FINISHED" && seen.reported.has(lead_id));
          return over && !seen.calls.some(isLive) ? seen : undefined;
        },
        PATIENCE_MS,
        POLL_MS,
      ).catch(quiet);
    },
  };
}

/** The file by which wall clocks are set, and what makes a process follow it. */
function steppedClocks() {
  const folder = mkdtempSync(join(tmpdir(), "callagent-clocks-"));
  const CLOCK_STEPS = join(folder, "steps.json");
  const set = (steps: Readonly<Record<string, number>>): void => {
    // whole at once: it is read all the time
    writeFileSync(`${CLOCK_STEPS}.new`, JSON.stringify(steps));
    renameSync(`${CLOCK_STEPS}.new`, CLOCK_STEPS);
  };
  set({});
  return {
    env: { CLOCK_STEPS, NODE_OPTIONS: `--import=${script("faults/stepped-clock.ts")}` },
    set,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function productOptions(
  { timeScale, leaseSeconds, provider, engine, env = {}, replicas, balanced = false, tree }: SceneOptions,
  stepped: ReturnType<typeof steppedClocks> | null,
): ProductOptions {
  return {
    split: true,
    timeScale,
    providers: [provider],
    replicas: { dialer: 2, ...(balanced ? { conversation: 2 } : {}), ...replicas },
    ...(engine === undefined ? {} : { engine }),
    env: {
      LEASE_SECONDS: String(leaseSeconds),
      PLACEMENT_GRACE_SECONDS: "10",
      SWEEP_INTERVAL_MS: "500",
      SCHEDULER_INTERVAL_MS: "500",
      ...env,
      ...stepped?.env,
    },
    ...(stepped ? { storeEnv: { ...stepped.env, CLOCK_NAME: "store" } } : {}),
    ...(tree === undefined ? {} : { treeOf: () => tree }),
  };
}

/** Two processes of conversations behind a balancer: what starts them so, and what tells the balancer of them. */
async function balancedMedia() {
  const balancer = await startMediaBalancer();
  const ports: Readonly<Record<string, number>> = {
    conversation: await freePort(),
    "conversation-2": await freePort(),
  };
  const PUBLIC_WS_URL = `ws://127.0.0.1:${balancer.port}`;
  const options: Pick<ProductOptions, "metricsPort" | "envOf"> = {
    metricsPort: 0,
    envOf: (child) => ({ PUBLIC_WS_URL, ...(ports[child] === undefined ? {} : { MEDIA_PORT: String(ports[child]) }) }),
  };
  return {
    options,
    serve: ({ stack }: Product): void =>
      balancer.serve(Object.entries(ports).map(([name, port]) => ({ port, health: stack.metricsUrls[name] ?? "" }))),
    close: () => balancer.close(),
  };
}

/** Sets the scene. */
export async function setScene(options: SceneOptions): Promise<Scene> {
  const { provider, say, clocks = false, balanced = false } = options;
  const stepped = clocks ? steppedClocks() : null;
  const media = balanced ? await balancedMedia() : null;
  let proxy: BusProxy | null = null;
  let store: TcpProxy | null = null;
  const product = await startProduct({
    ...productOptions(options, stepped),
    ...media?.options,
    between: {
      bus: (url, child) => (proxy ??= startBusProxy(url)).urlFor(child),
      store: async (url) => through((store ??= await startTcpProxy(url)), url),
    },
  });
  media?.serve(product);
  const pusher = await startPushing(product);
  const template_id = campaignOf(product, provider);
  const ids: string[] = [];
  if (proxy === null || store === null) throw new Error("the stack asked for no proxies");
  const [theBus, theStore]: [BusProxy, TcpProxy] = [proxy, store];
  return {
    product,
    pusher,
    store: theStore,
    say,
    ids,
    ...observers(product, pusher, ids),
    async bus(there) {
      const nats = product.stack.children.get("nats");
      if (there) {
        await nats?.up();
        theBus.away(false);
      } else {
        theBus.away(true);
        await nats?.down("SIGKILL");
      }
    },
    setClocks: (steps) => stepped?.set(steps),
    async callAgainAfter(outcome) {
      await product.admin.ask("PUT", "/templates/{id}", { path: { id: template_id }, body: { retry_on: [outcome] } });
    },
    async push(who, count) {
      const numbers = Array.from({ length: count }, (_, i) => callee(ids.length + i, who));
      const pushed = await pusher.insistAll(numbers, { template_id });
      ids.push(...pushed);
      return pushed;
    },
    async end() {
      await product.stop();
      stepped?.remove();
      await media?.close();
      await theBus.close();
      await theStore.close();
    },
  };
}
