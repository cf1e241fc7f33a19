import { SPANS } from "../../shared/tracing/spans.ts";
import { pageAt } from "./pages.ts";

test("docs/monitoring.md lists every span of a lead's trace", () => {
  const rows = pageAt("docs/monitoring.md")
    .split("\n")
    .filter((line) => /^\| `[a-z.]+` \| [a-z]+ \|/.test(line));
  expect(rows).toEqual(Object.entries(SPANS).map(([name, { by, about }]) => `| \`${name}\` | ${by} | ${about} |`));
});
