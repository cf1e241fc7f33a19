import { existsSync, readFileSync } from "node:fs";
import { join, dirname } from "node:path";
import { runProgram } from "../../local/harness/program.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import type { Outcome, Step } from "./outcome.ts";

const LANE_MS = 900_000;
const LAST_CHARACTERS = 2000;

/** A scene that a machine can't play, and why: "name  1.2 s  left out: apt-get install x | as it should". */
const LEFT_OUT = /^(.+?) +[\d.]+ s {2}left out: (.+) \| as it should$/;

/** What test/real/browsers/main.ts tells: a scene is a test. A run that broke off is one failure. */
export function readScenes(output: string, status: number): Outcome {
  const lines = output.split("\n");
  const skipped = lines.flatMap((line) => {
    const [, name, reason] = LEFT_OUT.exec(line) ?? [];
    return name === undefined || reason === undefined ? [] : [{ name, reason }];
  });
  const passed = lines.filter((line) => line.endsWith(" | as it should")).length - skipped.length;
  const wrong = lines.filter((line) => line.endsWith(" | FAILED"));
  const whole = /^\d+ of \d+ scenes ended as they should$/m.test(output);
  return {
    passed,
    failed: wrong.length === 0 && (!whole || status !== 0) ? 1 : wrong.length,
    skipped,
    said: whole ? wrong.join("\n") : output.slice(-LAST_CHARACTERS),
  };
}

/** Sessions in a real browser. `alone`: on a machine that has nothing but its loopback (Linux, root). `more`: arguments of test/real/browsers/main.ts. */
export const browserStep = (
  name: string,
  isShort: boolean,
  how: { short?: boolean; alone?: boolean; more?: readonly string[] } = {},
): Step => ({
  name,
  isShort,
  async run(env, log) {
    const main = join(ROOT, "test", "real", "browsers", "main.ts");
    const scenes = [
      process.execPath,
      main,
      "--folder",
      dirname(log),
      ...(how.short === true ? ["--short"] : []),
      ...(how.more ?? []),
    ];
    const alone = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"];
    const [command = "", ...args] = how.alone === true ? [...alone, ...scenes] : scenes;
    const status = await runProgram(command, args, { limitMs: LANE_MS, cwd: ROOT, env, log });
    return readScenes(existsSync(log) ? readFileSync(log, "utf8") : "", status);
  },
});
