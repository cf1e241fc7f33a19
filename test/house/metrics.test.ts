import { METRICS } from "../../shared/metrics/catalogue.ts";
import type { Metric } from "../../shared/metrics/metric.ts";
import { codeOf, lineAt } from "./code.ts";
import { readProject } from "./sources.ts";

const files = readProject()
  .filter(({ path }) => /^(?:services|shared)\/.*\.ts$/.test(path) && path !== "shared/metrics/catalogue.ts")
  .map(({ path, text }) => ({ path, code: codeOf(text).code }));
const VERBS: Record<Metric["kind"], string> = { counter: "count", gauge: "gauge", histogram: "observe" };

/** Every place that writes a metric: by which verb, and in which service; shared code is every service's. */
const written = files.flatMap(({ path, code }) =>
  [...code.matchAll(/\.(count|observe|gauge)\(\s*"(callagent_[a-z_]+)"/g)].map(([, verb = "", name = ""]) => ({
    at: path,
    verb,
    name,
    service: /^services\/([^/]+)\//.exec(path)?.[1] ?? "every",
  })),
);
/** Names of metrics in code that is no such place would be written past the catalogue. */
const named = files.flatMap(({ path, code }) =>
  [...code.matchAll(/callagent_[a-z_]+/g)].map((m) => ({ at: `${path}:${lineAt(code, m.index)}`, name: m[0] })),
);

describe("the catalogue of metrics", () => {
  test("each metric of it is written, by the verb of its kind and by the services that it names", () => {
    for (const [name, { kind, by }] of Object.entries<Metric>(METRICS)) {
      const places = written.filter((place) => place.name === name);
      expect([name, ...new Set(places.map(({ verb }) => verb))]).toEqual([name, VERBS[kind]]);
      const services = [...new Set(places.map(({ service }) => service))].sort();
      expect([name, services]).toEqual([name, by === "every" ? ["every"] : [...by].sort()]);
    }
  });

  test("each metric that is written is in it", () => {
    expect(written.length).toBeGreaterThan(0);
    expect(named.filter(({ name }) => !Object.hasOwn(METRICS, name))).toEqual([]);
  });

  test("names say their unit as Prometheus has it", () => {
    for (const [name, { kind, unit }] of Object.entries<Metric>(METRICS)) {
      expect(name).toMatch(/^callagent_[a-z_]+$/);
      expect([name, name.endsWith("_total")]).toEqual([name, kind === "counter"]);
      if (unit === "seconds" || unit === "bytes") expect(name).toMatch(new RegExp(`_${unit}(?:_total)?$`));
    }
  });

  test("no label names a tenant, a person or an id", () => {
    for (const [name, { labels }] of Object.entries<Metric>(METRICS))
      for (const [label, values] of Object.entries(labels)) {
        expect([name, label]).toEqual([
          name,
          expect.not.stringMatching(/_id$|tenant|reseller|merchant|phone|number|quantile/),
        ]);
        expect([name, label, values.length > 0 && new Set(values).size === values.length]).toEqual([name, label, true]);
      }
  });
});
