import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "../../../local/real/browser/chromium.ts";
import { isRecord } from "../../../shared/json.ts";

/** What axe finds of WCAG 2.2 AA, by rule. */
export async function findings(page: Page): Promise<string[]> {
  const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
  await page.evaluate(`${readFileSync(axe, "utf8")}; true`);
  const found = await page.evaluate(
    `axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }).then(({ violations }) => ({ ids: violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html).join(" ")) }))`,
  );
  return isRecord(found) && Array.isArray(found["ids"]) ? found["ids"].map(String) : ["axe did not run"];
}
