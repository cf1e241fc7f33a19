import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EVENT_NAMES, EVENTS } from "../../shared/contracts/events/catalogue.ts";
import { toEventData } from "../../services/leads/lists/lead-views.ts";
import { RETRY_DELAYS_MS, RETRY_JITTER } from "../../services/webhook/rules/delivery-verdict.ts";
import { readProject } from "../house/sources.ts";
import { leadDoc } from "../leads/fixtures/lead-doc.ts";
import { blocksOf, pageAt, ROOT } from "./pages.ts";

const page = { path: "docs/webhooks.md", text: pageAt("docs/webhooks.md") };
const blocks = blocksOf(page);

/** Names in the first cell of the rows of the table that begins with this head. */
const namesBelow = (head: string): string[] =>
  (page.text.split(`| ${head} | is |\n|---|---|\n`)[1]?.split("\n\n")[0] ?? "")
    .split("\n")
    .flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map((m) => m[1] ?? ""));

describe("docs/webhooks.md", () => {
  const sent = Object.keys(toEventData(leadDoc({ status: "FINISHED" }), null));
  test("names every field of data, and no other", () => {
    expect(namesBelow("field").sort()).toEqual([...sent].sort());
  });
  test("shows an event with just these fields", () => {
    const example: { type: string; data: object } = JSON.parse(blocks.find((b) => b.language === "json")?.text ?? "");
    expect([example.type, Object.keys(example.data)]).toEqual(["lead.finished", sent]);
  });
  test("names every field of metaData that the leads service writes", () => {
    const written = readProject()
      .filter((file) => file.path.startsWith("services/leads/"))
      .flatMap(({ text }) => [...text.matchAll(/"meta\.([a-z_]+)"/g)].map((m) => m[1] ?? ""));
    expect(written.length).toBeGreaterThan(8);
    const named = namesBelow("field of `metaData`");
    expect([...new Set(written)].filter((name) => !named.includes(name))).toEqual([]);
  });
  test("names every type of event that an endpoint can hear of, as the catalogue has it", () => {
    for (const name of EVENT_NAMES) expect(page.text).toContain(`| \`${name}\` | ${EVENTS[name].doc} |`);
  });
  test("names the retry plan", () => {
    const hours = (ms: number): string =>
      ms < 60_000 ? `${ms / 1000} s` : ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`;
    const plan = RETRY_DELAYS_MS.map(hours);
    expect(page.text).toContain(
      `after ${plan.slice(0, -1).join(", ")} and ${plan.at(-1)}, each ± ${RETRY_JITTER * 100} %`,
    );
  });
  test.each([
    ["ts", "verify.ts"],
    ["python", "verify.py"],
    ["go", "verify.go"],
    ["java", "Verify.java"],
    ["php", "verify.php"],
  ])("its %s is deploy/webhooks/%s, to the letter", (language, file) => {
    const text = readFileSync(join(ROOT, "deploy", "webhooks", file), "utf8");
    expect(blocks.filter((b) => b.language === language).map((b) => b.text)).toContain(text);
  });
});
