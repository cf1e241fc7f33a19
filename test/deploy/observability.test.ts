import { readdirSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { METRICS } from "../../shared/metrics/catalogue.ts";
import type { Metric } from "../../shared/metrics/metric.ts";
import { createMetrics } from "../../shared/metrics/metrics.ts";
import { systemClock } from "../../shared/time/clock.ts";
import { VARIABLES } from "../../shared/process/variables.ts";
import { contracts } from "../../shared/contracts/index.ts";
import { ROOT } from "../house/sources.ts";
import { read, readCompose } from "./compose-file.ts";

interface Rule {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}
interface Panel {
  type: string;
  title: string;
  targets?: { expr: string; legendFormat: string }[];
}
const FOLDER = "deploy/observability";
const rules = (parse(read(`${FOLDER}/alerts.yml`)) as { groups: { rules: Rule[] }[] }).groups.flatMap((g) => g.rules);
const dashboards = readdirSync(join(ROOT, FOLDER, "dashboards")).map((name) => ({
  name,
  ...(JSON.parse(read(`${FOLDER}/dashboards/${name}`)) as { uid: string; title: string; panels: Panel[] }),
}));
const queries: (readonly [string, string])[] = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...dashboards.flatMap(({ name, panels }) =>
    panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [`${name}: ${title}`, expr] as const)),
  ),
];

/** Labels of every series: the process's own, and what Prometheus adds. */
const EVERYWHERE = ["process", "instance", "job", "le"];
/** Metrics of the process and of Node.js, as they are written. */
const given = async (): Promise<Set<string>> =>
  new Set((await createMetrics("all", systemClock).text()).match(/^(?:process|nodejs)_[a-z0-9_]+/gm) ?? []);

/** What is wrong with a query: a metric, a label or a label's value that does not exist. */
function wrongIn(expr: string, others: ReadonlySet<string>): string[] {
  const faults: string[] = [];
  const named: Metric[] = [];
  for (const [, name = "", selector = ""] of expr.matchAll(
    /\b([a-z][a-z0-9]*_[a-z0-9_]+|up)\b(?!\s*\()(?:\{([^}]*)\})?/g,
  )) {
    if (name === "up" || others.has(name) || EVERYWHERE.includes(name) || /^histogram_quantile$/.test(name)) continue;
    const metric = Object.entries<Metric>(METRICS).find(
      ([own, { kind }]) =>
        own === name || (kind === "histogram" && ["_bucket", "_sum", "_count"].some((end) => own + end === name)),
    )?.[1];
    if (!metric) {
      faults.push(`there is no metric ${name}`);
      continue;
    }
    named.push(metric);
    for (const [, label = "", operator = "", value = ""] of selector.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)) {
      if (EVERYWHERE.includes(label)) continue;
      const values = metric.labels[label];
      if (!values) faults.push(`${name} has no label ${label}`);
      const asked = operator.endsWith("~") ? value.split("|") : [value];
      for (const one of asked)
        if (values && !values.some((v) => (operator.endsWith("~") ? new RegExp(`^(?:${one})$`).test(v) : v === one)))
          faults.push(`${label} of ${name} is never ${one}`);
    }
  }
  for (const [, labels = ""] of expr.matchAll(/\b(?:by|on|ignoring)\s*\(([^)]*)\)/g))
    for (const label of labels.split(",").map((l) => l.trim()))
      if (!EVERYWHERE.includes(label) && !named.some((metric) => label in metric.labels))
        faults.push(`nothing that is asked for has a label ${label}`);
  return faults;
}

describe("dashboards and alert rules", () => {
  test.each(queries)("%s asks for what there is", async (_name, expr) => {
    expect(wrongIn(expr, await given())).toEqual([]);
  });

  test("a query for what there is not is found", async () => {
    const others = await given();
    expect(wrongIn("rate(callagent_gone_total[5m])", others)).toEqual(["there is no metric callagent_gone_total"]);
    expect(wrongIn('callagent_leads{stat="parked"}', others)).toEqual(["callagent_leads has no label stat"]);
    expect(wrongIn('callagent_leads{state=~"parked|lost"}', others)).toEqual([
      "state of callagent_leads is never lost",
    ]);
    expect(wrongIn("sum by (tenant) (callagent_leads)", others)).toEqual([
      "nothing that is asked for has a label tenant",
    ]);
    expect(wrongIn("nodejs_eventloop_lag_p98_seconds", others)).toEqual([
      "there is no metric nodejs_eventloop_lag_p98_seconds",
    ]);
  });

  test("every metric of ours is shown or watched", () => {
    const all = queries.map(([, expr]) => expr).join("\n");
    expect(Object.keys(METRICS).filter((name) => !all.includes(name))).toEqual([]);
  });

  test("each alarm has its severity, its page section, and a case that makes it fire", () => {
    const page = read("docs/alarms.md");
    const cases = parse(read(`${FOLDER}/alerts.test.yml`)) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
    };
    const fired = new Set(
      cases.tests.flatMap((t) => t.alert_rule_test.flatMap((a) => (a.exp_alerts.length > 0 ? [a.alertname] : []))),
    );
    const [healthy] = cases.tests;
    for (const { alert, labels, annotations } of rules) {
      expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(?:warning|critical)$/)]);
      expect(annotations.runbook_url).toBe(`docs/alarms.md#${alert.toLowerCase()}`);
      expect([alert, page.includes(`\n## ${alert}\n`)]).toEqual([alert, true]);
      expect([alert, fired.has(alert)]).toEqual([alert, true]);
      expect(healthy?.alert_rule_test.map((a) => a.alertname)).toContain(alert);
    }
    const named = new Set([...page.matchAll(/`(Callagent\w+)`/g)].map((m) => m[1] ?? ""));
    expect([...named].filter((name) => !rules.some(({ alert }) => alert === name))).toEqual([]);
    const titles = dashboards.flatMap(({ panels }) => panels.map(({ title }) => title));
    const panelsNamed = [...page.matchAll(/"([A-Z][^"\n]+)"/g)].map((m) => m[1] ?? "");
    expect(panelsNamed.filter((name) => !titles.some((title) => title.startsWith(name)))).toEqual([]);
    const sections = [...page.matchAll(/^## (Callagent\w+)$/gm)].map((m) => m[1]);
    expect(sections).toEqual(rules.map(({ alert }) => alert));
  });

  test("each dashboard and each panel has a name of its own", () => {
    expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(dashboards.length);
    for (const { name, panels } of dashboards) {
      const titles = panels.map(({ title }) => title);
      expect([name, new Set(titles).size]).toEqual([name, titles.length]);
    }
  });

  test("the scrape configuration finds every service of docker-compose.yml at its port", () => {
    const { scrape_configs, rule_files } = parse(read(`${FOLDER}/prometheus.yml`)) as {
      scrape_configs: { job_name: string; dns_sd_configs: { names: string[]; port: number }[] }[];
      rule_files: string[];
    };
    const [job] = scrape_configs;
    expect([job?.job_name, rule_files]).toEqual(["callagent", ["alerts.yml"]]);
    expect([...(job?.dns_sd_configs[0]?.names ?? [])].sort()).toEqual(Object.keys(contracts).sort());
    for (const name of Object.keys(contracts))
      expect(readCompose().services[name]?.environment?.["METRICS_PORT"]).toBe(String(job?.dns_sd_configs[0]?.port));
    expect(VARIABLES.METRICS_PORT.kind).toBe("integer");
  });
});
