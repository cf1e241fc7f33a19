import { resolve } from "node:path";
import { command, runCommand } from "../../shared/process/command-line.ts";
import { FAULTS } from "../commands.ts";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";
import { setScene } from "./scene.ts";

const LIST = Object.entries(SCENARIOS).map(
  ([name, { about, seconds }]) => `  ${name.padEnd(22)} ${about} (--seconds ${seconds})`,
);
const COMMAND = command({
  ...FAULTS,
  operands: [{ name: "fault", needed: true, many: true, values: [...Object.keys(SCENARIOS), "all"] }],
  notes: ["Faults:", ...LIST].join("\n"),
});

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

await runCommand(COMMAND, async ({ values, operands }) => {
  const names = operands.includes("all") ? Object.keys(SCENARIOS) : operands;
  const tree = values.tree === undefined ? {} : { tree: resolve(values.tree) };
  let held = 0;
  for (const name of names) {
    const scenario = SCENARIOS[name];
    if (scenario !== undefined && (await play(name, scenario, values.seconds ?? null, tree))) held += 1;
  }
  if (names.length > 1) say(`${held} of ${names.length} held`);
  return held === names.length ? 0 : 1;
});
