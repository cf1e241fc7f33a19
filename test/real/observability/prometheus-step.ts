import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { callee, startPushing } from "../../../local/harness/lead-pusher.ts";
import { startProduct, type Product } from "../../../local/harness/product.ts";
import { until } from "../../../local/harness/stage.ts";
import type { Outcome, Step } from "../outcome.ts";
import {
  OBSERVABILITY as FOLDER,
  query,
  rulesOf,
  startPrometheus,
  valueOf,
  type Prometheus,
} from "../../../local/real/prometheus/prometheus-server.ts";

const LIMIT_MS = 60_000;
const LEADS = 4;

/** What one look found, by its name: null, or what is wrong. */
export type Found = Record<string, string | null>;

/** The outcome of what was looked at. */
export const outcomeOf = (found: Found): Outcome => {
  const wrong = Object.entries(found).filter(([, fault]) => fault !== null);
  return {
    passed: Object.keys(found).length - wrong.length,
    failed: wrong.length,
    skipped: [],
    said: wrong.map(([name, fault]) => `${name}: ${fault}`).join("\n"),
  };
};

/** What promtool says against it; null: nothing. */
function promtool(args: readonly string[], input?: string): string | null {
  const { status, stdout, stderr } = spawnSync("promtool", [...args], {
    cwd: FOLDER,
    encoding: "utf8",
    timeout: LIMIT_MS,
    ...(input === undefined ? {} : { input }),
  });
  return status === 0 ? null : `${stdout}${stderr}`.slice(0, 2000) || `promtool ended with status ${status}`;
}

/** promtool judges the files of deploy/observability, and tests the rules. */
export const rulesStep: Step = {
  name: "rules",
  isShort: true,
  run: () =>
    Promise.resolve(
      outcomeOf({
        "check config": promtool(["check", "config", "prometheus.yml"]),
        "check rules": promtool(["check", "rules", "alerts.yml"]),
        "test rules": promtool(["test", "rules", "alerts.test.yml"]),
      }),
    ),
};

interface Panel {
  title: string;
  targets?: { expr: string }[];
}
const queries = (): string[] =>
  readdirSync(join(FOLDER, "dashboards")).flatMap((name) =>
    (JSON.parse(readFileSync(join(FOLDER, "dashboards", name), "utf8")) as { panels: Panel[] }).panels.flatMap(
      ({ targets = [] }) => targets.map(({ expr }) => expr),
    ),
  );

/** Waits for it; null: it came, else what did not. */
export const came = (what: string, look: () => Promise<boolean>): Promise<string | null> =>
  until(what, async () => ((await look()) ? true : undefined), LIMIT_MS, 500).then(
    () => null,
    (error: unknown) => String(error),
  );

/** Looks at everything that a Prometheus can see of a product that calls people. */
async function look(product: Product, server: Prometheus): Promise<Found> {
  const found: Found = {};
  const urls = Object.entries(product.stack.metricsUrls);
  const up = (): Promise<number> => valueOf(server, 'sum(up{job="callagent"})');
  found["every process is scraped"] = await came("all to be up", async () => (await up()) === urls.length);
  const { push } = await startPushing(product);
  await Promise.all(Array.from({ length: LEADS }, (_, i) => push(callee(i, "01"))));
  const delivered = 'sum(callagent_webhook_tries_total{verdict="delivered"})';
  found["calls are seen"] = await came("the webhook events", async () => (await valueOf(server, delivered)) >= LEADS);
  for (const [name, url] of urls)
    found[`promtool: ${name}`] = promtool(["check", "metrics"], await (await fetch(`${url}/metrics`)).text());
  for (const expr of new Set(queries())) {
    const { status, error } = await query(server, expr);
    found[expr] = status === "success" ? null : (error ?? status);
  }
  for (const { name, health, lastError } of await rulesOf(server))
    found[name] = health === "ok" ? null : `${health}: ${lastError ?? ""}`;
  await product.stack.children.get("webhook")?.down("SIGKILL");
  found["the alarm of a dead process"] = await came("CallagentProcessAway", async () =>
    (await rulesOf(server)).some(({ name, state }) => name === "CallagentProcessAway" && state !== "inactive"),
  );
  return found;
}

/** A real Prometheus scrapes the product, one process per service, while leads are called. */
export const scrapeStep: Step = {
  name: "scrape",
  isShort: false,
  async run(_env, log) {
    const product = await startProduct({ split: true, metricsPort: 0 });
    const server = await startPrometheus(product.stack.metricsUrls, log);
    try {
      await until("Prometheus to be ready", async () => ((await server.isUp()) ? true : undefined), LIMIT_MS);
      return outcomeOf(await look(product, server));
    } finally {
      await server.stop();
      await product.stop();
    }
  },
};
