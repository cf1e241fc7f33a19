import { METRICS } from "../../shared/metrics/catalogue.ts";
import type { Metric } from "../../shared/metrics/metric.ts";
import { pageAt } from "./pages.ts";

const rows = pageAt("docs/monitoring.md")
  .split("\n")
  .filter((line) => /^\| `callagent_[a-z_]+` \|/.test(line));

/** A row as the page has it. Labels with few values are shown with them. */
const rowOf = (name: string, { kind, unit, labels, by, about }: Metric): string => {
  const said = Object.entries(labels).map(([label, values]) =>
    values.length <= 6 ? `${label}: ${values.join(", ")}` : label,
  );
  return `| \`${name}\` | ${kind}, ${unit} | ${said.join("; ")} | ${by === "every" ? "every one" : by.join(", ")} | ${about} |`;
};

test("docs/monitoring.md lists every metric with its unit, labels and writers", () => {
  expect(rows).toEqual(Object.entries<Metric>(METRICS).map(([name, metric]) => rowOf(name, metric)));
});
