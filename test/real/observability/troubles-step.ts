import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callee, startPushing, type Pusher } from "../../../local/harness/lead-pusher.ts";
import { startProduct, type Product } from "../../../local/harness/product.ts";
import { after, until } from "../../../local/harness/stage.ts";
import { startTcpProxy, through, type TcpProxy } from "../../../local/harness/tcp-proxy.ts";
import type { Step } from "../outcome.ts";
import {
  OBSERVABILITY,
  query,
  rulesOf,
  startPrometheus,
  type Prometheus,
} from "../../../local/real/prometheus/prometheus-server.ts";
import { came, outcomeOf, type Found } from "./prometheus-step.ts";

/**
 * The drill of docs/alarms.md, "The five troubles": each is made in the running product, one process per service; its alarm must fire, and its cause be seen on the
 * dashboards and in the log. Rules and dashboards are those of this repository, but that an hour of theirs takes a minute or less here.
 */
const READY_MS = 60_000;
const PUSH_EVERY_MS = 250;
/** Windows of rates and times that alarms wait for, instead of minutes. */
const WINDOW = "20s";
const FOR = "3s";
/** Oldest due leads are so much younger here when an alarm fires. */
const SOONER = 60;
const SLOW_STORE_MS = 150;
const CARRIER_AWAY_SECONDS = 20;
/** A processor that somebody else has for most of the time. */
const [STOPPED_MS, RUNS_MS] = [500, 150];
const OVERLOADED = "conversation-2";

const quick = (text: string): string => text.replaceAll(/\[\d+[mh]\]/g, `[${WINDOW}]`);
const quickRules = (text: string): string =>
  quick(text)
    .replaceAll(/\bfor: \d+m/g, `for: ${FOR}`)
    .replaceAll(
      /(callagent_oldest_due_seconds\{[^}]*\}\) > )(\d+)/g,
      (_all, what: string, seconds: string) => `${what}${Number(seconds) / SOONER}`,
    );

/** The last query of the panel with this title. */
function panel(title: string): string {
  const panels = readdirSync(join(OBSERVABILITY, "dashboards")).flatMap(
    (name) =>
      (
        JSON.parse(readFileSync(join(OBSERVABILITY, "dashboards", name), "utf8")) as {
          panels: { title: string; targets?: { expr: string }[] }[];
        }
      ).panels,
  );
  const expr = panels.find((p) => p.title === title)?.targets?.at(-1)?.expr;
  if (expr === undefined) throw new Error(`no dashboard has a panel "${title}"`);
  return quick(expr);
}

/** A series of a panel: its labels and its value. */
type Series = readonly (readonly [Record<string, string>, number])[];

interface Scene {
  product: Product;
  server: Prometheus;
  store: TcpProxy;
}
interface Trouble {
  name: string;
  alarm: string;
  /** What the alarm names. */
  names?: (scene: Scene) => Record<string, string>;
  panel: string;
  /** Whether the panel shows the cause. */
  shows: (series: Series, scene: Scene) => boolean;
  /** An event of the log that says more, and what it must say. */
  log?: { event: string; says: (scene: Scene) => string };
  make: (scene: Scene) => Promise<() => Promise<void> | void>;
}

const hostOf = (url = ""): string => new URL(url).host;

async function setSlots(product: Product, slots: number): Promise<void> {
  const { numbers } = await product.admin.ask("GET", "/numbers", { query: { limit: 100 } });
  for (const { id } of numbers)
    await product.admin.ask("PUT", "/numbers/{number_id}", {
      path: { number_id: id },
      body: { max_concurrent_calls: slots },
    });
}

const TROUBLES: readonly Trouble[] = [
  {
    name: "slow store",
    alarm: "CallagentStoreSlow",
    panel: "Writes: latency",
    // one process alone would be its own way to the database; one that hardly writes shows the time before for a while
    shows: (series) => series.length > 3 && series.filter(([, seconds]) => seconds > 0.1).length > series.length / 2,
    make: ({ store }) => {
      store.set("both", { latencyMs: SLOW_STORE_MS / 2 });
      return Promise.resolve(() => store.set("both", { latencyMs: 0 }));
    },
  },
  {
    name: "dead carrier",
    alarm: "CallagentCarrierClosed",
    names: () => ({ provider: "PROVIDER_ONE" }),
    panel: "Carrier accounts that are asked for nothing",
    shows: (series) => series.some(([{ provider }, closed]) => provider === "PROVIDER_ONE" && closed === 1),
    log: { event: "carrier.slowed", says: () => "PROVIDER_ONE" },
    make: async ({ product }) => {
      // its door may close before it has answered
      await product.injectFault({ kind: "refuse_connections", seconds: CARRIER_AWAY_SECONDS }).catch(() => undefined);
      return () => undefined;
    },
  },
  {
    name: "full numbers",
    alarm: "CallagentNumbersFull",
    panel: "Slots of numbers",
    shows: (series) =>
      series.some(([{ provider, state }, n]) => provider === "PROVIDER_ONE" && state === "free" && n === 0),
    make: async ({ product }) => {
      await setSlots(product, 1);
      return () => setSlots(product, 50);
    },
  },
  {
    name: "failing receiver",
    alarm: "CallagentWebhooksFail",
    panel: "Tries a minute, by what came of them",
    shows: (series) => {
      const of = (verdict: string): number => series.find(([labels]) => labels["verdict"] === verdict)?.[1] ?? 0;
      return of("again") + of("probed") > of("delivered");
    },
    log: { event: "webhook.host_paused", says: ({ product }) => new URL(product.sink.url).hostname },
    make: ({ product: { sink } }) => {
      sink.ill = true;
      return Promise.resolve(() => {
        sink.ill = false;
      });
    },
  },
  {
    name: "one overloaded conversation node",
    alarm: "CallagentLoopLags",
    names: ({ product }) => ({ process: "conversation", instance: hostOf(product.stack.metricsUrls[OVERLOADED]) }),
    panel: "Event loop lag, 99 %",
    shows: (series, { product }) => {
      const [worst] = series.toSorted(([, a], [, b]) => b - a);
      return worst?.[0]["instance"] === hostOf(product.stack.metricsUrls[OVERLOADED]);
    },
    make: ({ product }) => {
      const child = product.stack.children.get(OVERLOADED);
      let stopped = false;
      let timer: NodeJS.Timeout;
      const turn = (): void => {
        stopped = !stopped;
        child?.kill(stopped ? "SIGSTOP" : "SIGCONT");
        timer = setTimeout(turn, stopped ? STOPPED_MS : RUNS_MS);
      };
      turn();
      return Promise.resolve(() => {
        clearTimeout(timer);
        child?.kill("SIGCONT");
      });
    },
  },
];

async function fires({ alarm, names }: Trouble, scene: Scene): Promise<boolean> {
  const wanted = Object.entries(names?.(scene) ?? {});
  const found = (await rulesOf(scene.server)).find(({ name }) => name === alarm)?.alerts ?? [];
  return found.some(
    ({ labels, state }) => state === "firing" && wanted.every(([label, value]) => labels[label] === value),
  );
}

async function drill(trouble: Trouble, scene: Scene): Promise<Found> {
  const { name, alarm, log } = trouble;
  const seen = async (): Promise<boolean> => {
    const { data } = await query(scene.server, panel(trouble.panel));
    const series = (data?.result ?? []).map(({ metric, value }) => [metric, Number(value[1])] as const);
    return trouble.shows(series, scene);
  };
  const said = (): boolean =>
    log === undefined ||
    scene.product.log.some((line) => line["event"] === log.event && JSON.stringify(line).includes(log.says(scene)));
  const before = await fires(trouble, scene);
  const heal = await trouble.make(scene);
  const found: Found = {
    [`${name}: ${alarm} is quiet before`]: before ? "it fires" : null,
    [`${name}: ${alarm} fires`]: await came(`${alarm} to fire`, () => fires(trouble, scene)),
    [`${name}: "${trouble.panel}" shows it`]: await came("the panel to show the cause", seen),
    [`${name}: the log says ${log?.event ?? "no more"}`]: await came("the log", () => Promise.resolve(said())),
  };
  await heal();
  // the next trouble begins in calm, or after a minute: how long a busy machine takes to catch up says nothing of the alarm
  await came(`${alarm} to end`, async () => !(await fires(trouble, scene)));
  return found;
}

/** Pushes leads until it is told to end: what happens to a deployment that is at work. */
function load(pusher: Pusher): () => Promise<void> {
  const end = new AbortController();
  const pushing = (async () => {
    for (let n = 0; !end.signal.aborted; n++) {
      await pusher.push(callee(n, "01")).catch(() => undefined);
      await after(PUSH_EVERY_MS);
    }
  })();
  return async () => {
    end.abort();
    await pushing;
  };
}

/** The five troubles, one after the other, in the split product under load. */
export const troublesStep: Step = {
  name: "troubles",
  isShort: false,
  async run(_env, log) {
    let store: TcpProxy | undefined;
    const product = await startProduct({
      split: true,
      metricsPort: 0,
      replicas: { conversation: 2 },
      between: {
        store: async (url) => {
          store = await startTcpProxy(url);
          return through(store, url);
        },
      },
    });
    const rules = `${log}.rules.yml`;
    writeFileSync(rules, quickRules(readFileSync(join(OBSERVABILITY, "alerts.yml"), "utf8")));
    const server = await startPrometheus(product.stack.metricsUrls, log, rules);
    const found: Found = {};
    const end = load(await startPushing(product));
    try {
      await until("Prometheus to be ready", async () => ((await server.isUp()) ? true : undefined), READY_MS);
      if (store === undefined) throw new Error("nothing stands between the services and the database");
      for (const trouble of TROUBLES) Object.assign(found, await drill(trouble, { product, server, store }));
      return outcomeOf(found);
    } finally {
      await end();
      await server.stop();
      await product.stop();
      await store?.close();
    }
  },
};
