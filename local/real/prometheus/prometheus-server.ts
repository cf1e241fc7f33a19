import { spawn, type ChildProcess } from "node:child_process";
import { openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Product } from "../../harness/product.ts";
import { freePort } from "../../tools/stack/ports.ts";
import { ROOT } from "../../tools/stack/project-root.ts";

/** The folder of dashboards and rules. */
export const OBSERVABILITY = join(ROOT, "deploy", "observability");

/** A Prometheus that scrapes these addresses each second, by the rules of this repository or others. */
export async function startPrometheus(
  urls: Product["stack"]["metricsUrls"],
  log: string,
  rules = join(OBSERVABILITY, "alerts.yml"),
) {
  const data = `${log}.data`;
  rmSync(data, { recursive: true, force: true });
  const config = `${log}.yml`;
  const targets = Object.values(urls).map((url) => new URL(url).host);
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: "1s", evaluation_interval: "1s" },
      rule_files: [rules],
      scrape_configs: [{ job_name: "callagent", static_configs: [{ targets }] }],
    }),
  );
  const url = `http://127.0.0.1:${await freePort()}`;
  const out = openSync(log, "a");
  const child: ChildProcess = spawn(
    "prometheus",
    [`--config.file=${config}`, `--storage.tsdb.path=${data}`, `--web.listen-address=${new URL(url).host}`],
    { stdio: ["ignore", out, out] },
  );
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
  });
  return {
    ask: async <T>(path: string): Promise<T> => (await fetch(`${url}/api/v1/${path}`)).json() as Promise<T>,
    isUp: () =>
      fetch(`${url}/-/ready`).then(
        (answer) => answer.ok,
        () => false,
      ),
    async stop() {
      child.kill("SIGTERM");
      await ended;
      rmSync(data, { recursive: true, force: true });
    },
  };
}
/** A running Prometheus. */
export type Prometheus = Awaited<ReturnType<typeof startPrometheus>>;

interface Answer {
  status: string;
  error?: string;
  data?: { result: { metric: Record<string, string>; value: [number, string] }[] };
}
/** The answer to a query, of now. */
export const query = (server: Prometheus, expr: string): Promise<Answer> =>
  server.ask<Answer>(`query?query=${encodeURIComponent(expr)}`);
/** The value of the first series; NaN: there is none. */
export const valueOf = async (server: Prometheus, expr: string): Promise<number> =>
  Number((await query(server, expr)).data?.result[0]?.value[1] ?? Number.NaN);

/** A rule as Prometheus knows it. */
export interface Rule {
  name: string;
  health: string;
  lastError?: string;
  state: string;
  alerts?: { labels: Record<string, string>; state: string }[];
}
interface Rules {
  data: { groups: { rules: Rule[] }[] };
}
/** The rules, with the alarms that they raise. */
export const rulesOf = async (server: Prometheus): Promise<Rule[]> =>
  (await server.ask<Rules>("rules")).data.groups.flatMap((group) => group.rules);
