import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../../local/harness/program.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import type { Outcome, Step } from "./outcome.ts";

const SCENES_MS = 600_000;
const LAST_CHARACTERS = 2000;

/** What test/real/rooms/main.ts tells: a scene is a test. A run that broke off is one failure. */
function readRooms(output: string, status: number): Outcome {
  const lines = output.split("\n");
  const wrong = lines.filter((line) => line.endsWith(" | FAILED"));
  const whole = /^\d+ of \d+ scenes ended as they should$/m.test(output);
  return {
    passed: lines.filter((line) => line.endsWith(" | as it should")).length,
    failed: wrong.length === 0 && (!whole || status !== 0) ? 1 : wrong.length,
    skipped: [],
    said: whole ? wrong.join("\n") : output.slice(-LAST_CHARACTERS),
  };
}

/** Sessions in rooms of the real server, with a client of LiveKit's own library. */
export const roomsStep = (name: string, isShort: boolean, args: readonly string[]): Step => ({
  name,
  isShort,
  async run(env, log) {
    const program = [join(ROOT, "test", "real", "rooms", "main.ts"), ...args];
    // else the client's library logs everything
    const quiet = { ...env, NODE_ENV: "production" };
    const status = await runProgram(process.execPath, program, { limitMs: SCENES_MS, cwd: ROOT, env: quiet, log });
    return readRooms(existsSync(log) ? readFileSync(log, "utf8") : "", status);
  },
});
