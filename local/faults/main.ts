import { parseArgs } from "node:util";
import { SCENARIOS } from "./scenarios.ts";
import { setScene } from "./scene.ts";

const USAGE = `npm run faults -- <name> [--seconds n]
Starts the split product, does one thing to it, and judges by the carrier's ledger, GET /leads and a verifying receiver alone.
${Object.entries(SCENARIOS)
  .map(([name, { about, seconds }]) => `  ${name.padEnd(14)} ${about} (--seconds ${seconds})`)
  .join("\n")}`;

const MAX_SECONDS = 600;

/** Exit status 0: all held; 1: something did not; 2: it was asked for wrongly. */
async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seconds: { type: "string" }, help: { type: "boolean" } },
  });
  const [name = ""] = positionals;
  const scenario = SCENARIOS[name];
  if (values.help === true || scenario === undefined) {
    console.log(USAGE);
    return values.help === true ? 0 : 2;
  }
  const seconds = values.seconds === undefined ? scenario.seconds : Number(values.seconds);
  if (!Number.isFinite(seconds) || seconds <= 0 || seconds > MAX_SECONDS) {
    console.error(`--seconds must be a number above 0 and at most ${MAX_SECONDS}.`);
    return 2;
  }
  const say = (line: string): void => console.log(line);
  const scene = await setScene({ ...scenario.scene(seconds), say });
  try {
    const found = await scenario.play(scene, seconds);
    for (const line of found) console.log(`✗ ${line}`);
    console.log(found.length === 0 ? "all held" : `${found.length} things did not hold`);
    return found.length === 0 ? 0 : 1;
  } finally {
    await scene.end();
  }
}

process.exitCode = await main();
