import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../../local/harness/program.ts";
import { tailOf } from "../../local/real/machine.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import type { Outcome, Step } from "./outcome.ts";

const DEMO_MS = 300_000;

/** What the last line of `npm run demo` and its exit status tell: a lead is a test; a refused webhook, or a demo that broke off, is one failure. */
export function readDemo(output: string, status: number): Outcome {
  const [, right, all] = /^(\d+) of (\d+) leads ended as expected; \d+ webhooks received/m.exec(output) ?? [];
  const [passed, failed] = [Number(right ?? 0), Number(all ?? 0) - Number(right ?? 0)];
  return { passed, failed: failed === 0 && status !== 0 ? 1 : failed, skipped: [], said: "" };
}

/** `npm run demo`: every lead must end as expected, and every webhook event be verified. */
export const demoStep: Step = {
  name: "demo",
  isShort: true,
  async run(env, log) {
    const program = join(ROOT, "local", "tools", "demo.ts");
    const status = await runProgram(process.execPath, [program], { limitMs: DEMO_MS, cwd: ROOT, env, log });
    const outcome = readDemo(existsSync(log) ? readFileSync(log, "utf8") : "", status);
    return { ...outcome, said: outcome.failed === 0 ? "" : tailOf(log) };
  },
};
