import { resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";
import { setScene } from "./scene.ts";

const USAGE = `npm run faults -- <name>... | all [--seconds n] [--tree folder]
Starts the split product, does one thing to it, and judges by the carrier's ledger, GET /leads and a verifying receiver alone.
${Object.entries(SCENARIOS)
  .map(([name, { about, seconds }]) => `  ${name.padEnd(22)} ${about} (--seconds ${seconds})`)
  .join("\n")}`;

const MAX_SECONDS = 600;

const say = (line: string): void => console.log(line);

/** Plays one; whether all of it held. */
async function play(name: string, scenario: Scenario, asked: number | null, tree: { tree?: string }): Promise<boolean> {
  const seconds = asked ?? scenario.seconds;
  say(`== ${name}`);
  const scene = await setScene({ ...scenario.scene(seconds), ...tree, say });
  try {
    const found = await scenario.play(scene, seconds);
    for (const line of found) say(`✗ ${line}`);
    say(found.length === 0 ? "all held" : `${found.length} things did not hold`);
    return found.length === 0;
  } finally {
    await scene.end();
  }
}

/** Exit status 0: all held; 1: something did not; 2: it was asked for wrongly. */
async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seconds: { type: "string" }, tree: { type: "string" }, help: { type: "boolean" } },
  });
  const names = positionals[0] === "all" ? Object.keys(SCENARIOS) : positionals;
  const unknown = names.filter((name) => SCENARIOS[name] === undefined);
  if (values.help === true || names.length === 0 || unknown.length > 0) {
    if (unknown.length > 0) console.error(`There is no fault ${unknown.map((name) => `"${name}"`).join(", ")}.`);
    console.log(USAGE);
    return values.help === true ? 0 : 2;
  }
  const seconds = values.seconds === undefined ? null : Number(values.seconds);
  if (seconds !== null && (!Number.isFinite(seconds) || seconds <= 0 || seconds > MAX_SECONDS)) {
    console.error(`--seconds must be a number above 0 and at most ${MAX_SECONDS}.`);
    return 2;
  }
  const tree = values.tree === undefined ? {} : { tree: resolve(values.tree) };
  let held = 0;
  for (const name of names) {
    const scenario = SCENARIOS[name];
    if (scenario !== undefined && (await play(name, scenario, seconds, tree))) held += 1;
  }
  if (names.length > 1) say(`${held} of ${names.length} held`);
  return held === names.length ? 0 : 1;
}

process.exitCode = await main();
