import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../../local/harness/program.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import type { Outcome, Step } from "./outcome.ts";

const BENCH_MS = 900_000;
/** A second of the lines takes two: the recogniser shares the machine with all the rest. */
const SLOW = "--slow=2";

/** What the table of `npm run bench -- speech` tells: a row of which something is asked is a test. A bench that broke off is one failure. */
export function readSpeech(output: string, status: number): Outcome {
  const rows = output.split("\n").filter((line) => /\| {2}(?:met|MISSED)$/.test(line));
  const missed = rows.filter((line) => line.endsWith("MISSED"));
  const whole = /^\d+ asked for and missed/m.test(output);
  return {
    passed: rows.length - missed.length,
    failed: missed.length === 0 && (!whole || status !== 0) ? 1 : missed.length,
    skipped: [],
    said: whole ? missed.join("\n") : output.slice(-2000),
  };
}

/** Conversations in real speech: on a quiet line, in noise, over a street, and with a customer who says nothing. */
export const speechStep: Step = {
  name: "lines",
  isShort: false,
  async run(env, log) {
    const args = [join(ROOT, "local", "bench", "main.ts"), "speech", "short", SLOW];
    const status = await runProgram(process.execPath, args, { limitMs: BENCH_MS, cwd: ROOT, env, log });
    return readSpeech(existsSync(log) ? readFileSync(log, "utf8") : "", status);
  },
};
