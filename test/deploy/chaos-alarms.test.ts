import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SCENARIOS } from "../../local/faults/scenarios.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";

const CHAOS = join(ROOT, "test", "chaos");
const RULES = readFileSync(join(ROOT, "deploy", "observability", "alerts.yml"), "utf8");
const ALARMS = new Set([...RULES.matchAll(/alert: (\w+)/g)].map(([, name = ""]) => name));

/** It plays SCENARIOS, which name their alarms themselves. */
const PLAYER = "fault-suite.slow.test.ts";

/** The rows of the catalogue of faults: what the fault is, and its last cell. */
const rows = readFileSync(join(CHAOS, "README.md"), "utf8")
  .split("\n")
  .slice(1)
  .filter((line) => /^\| (?:F\d|publisher|the database)/.test(line))
  .map((line) => {
    const cells = line.split("|").map((cell) => cell.trim());
    return { fault: cells[1] ?? "", shown: line, alarm: cells.length === 6 ? (cells[4] ?? "") : "" };
  });

const named = (alarm: string): string[] => [...alarm.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name);

describe("the alarm of each fault", () => {
  test("there is a catalogue, and there are rules", () => {
    expect(rows.length).toBeGreaterThan(40);
    expect(ALARMS.size).toBeGreaterThan(20);
  });

  test.each(rows)("$fault", ({ alarm }) => {
    const names = named(alarm);
    // an alarm that there is, or the reason why there is none
    expect(names.filter((name) => !ALARMS.has(name))).toEqual([]);
    if (names.length === 0) expect(alarm).toMatch(/^none: \w{2,}/);
  });

  test("each test of this folder stands in the catalogue", () => {
    const all = rows.map(({ shown }) => shown).join("\n");
    const tests = readdirSync(CHAOS).filter((name) => /\.(?:test|suite)\.ts$/.test(name));
    expect(tests.filter((name) => name !== PLAYER && !all.includes(name))).toEqual([]);
  });

  test.each(Object.entries(SCENARIOS))("npm run faults: %s", (_, { alarm }) => {
    if (alarm !== null) expect([...ALARMS]).toContain(alarm);
  });
});
