import { join } from "node:path";
import { provideNats } from "../local/harness/nats-server.ts";
import { runProgram } from "../local/harness/program.ts";
import { ROOT } from "../local/tools/stack/project-root.ts";
import { TEST } from "../local/commands.ts";
import { helpOf } from "../shared/process/command-line.ts";
import { countsOf, failedFiles, JEST, runJest, type Counts } from "./jest/run-jest.ts";

/** `npm test`: everything the tests need, then type-check, linter and jest. With arguments only jest runs, and they go to it. */
const SECOND_MS = 1000;
const CHECK_MS = 300 * SECOND_MS;
const JEST_MS = 1700 * SECOND_MS;
/** So many files that failed are run once more, alone: beside the others a machine without cores to spare can be too slow for what happens in real time. */
const MOST_AGAIN = 4;
const AGAIN_MS = 420 * SECOND_MS;

/** The compiler of the tree. The package `typescript` is version 5, which openapi-typescript builds with, and checks nothing here. */
const COMPILER = join(ROOT, "node_modules", "typescript-native", "bin", "tsc");

/** Runs a program with our own streams, and gives its exit status. */
const run = (command: string, args: readonly string[], limitMs: number): Promise<number> =>
  runProgram(command, args, { limitMs });

const title = (text: string): void => console.log(`\n== ${text}`);

async function check(name: string, command: string, args: string[]): Promise<Counts> {
  title(name);
  const passed = (await run(command, args, CHECK_MS)) === 0;
  console.log(passed ? `${name}: clean` : `${name}: failed`);
  return passed ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

async function jest(): Promise<Counts> {
  title("tests");
  const done = await runJest([], { limitMs: JEST_MS });
  const skipped = done.report?.numPendingTests ?? 0;
  if (skipped > 0) console.log(`${skipped} skipped`);
  const failed = failedFiles(done);
  if (failed.length === 0 || failed.length > MOST_AGAIN) return countsOf(done);
  title("what failed, alone");
  const again = await runJest(["--runTestsByPath", ...failed], { limitMs: AGAIN_MS, alone: true });
  const counts = countsOf(done, again);
  const unsteady = countsOf(done).failed - counts.failed;
  if (unsteady > 0) console.log(`${unsteady} unsteady: failed beside the others, as printed above, and passed alone`);
  return counts;
}

async function all(): Promise<number> {
  title("nats-server");
  if (!(await provideNats())) {
    console.log("\n0 passed, 1 failed");
    return 1;
  }
  console.log("is there");
  const bin = (name: string): string => join(ROOT, "node_modules", ".bin", name);
  const counts = [
    await check("type-check", process.execPath, [COMPILER, "--noEmit"]),
    await check("format", bin("oxfmt"), ["--check"]),
    await check("lint", bin("oxlint"), []),
    await check("supply chain", process.execPath, [join(ROOT, "deploy", "supply-chain", "check.ts")]),
    await jest(),
  ];
  const sum = (of: keyof Counts): number => counts.reduce((total, c) => total + c[of], 0);
  console.log(`\n${sum("passed")} passed, ${sum("failed")} failed`);
  return sum("failed") === 0 ? 0 : 1;
}

const args = process.argv.slice(2);
if (args.includes("--help")) console.log(helpOf(TEST));
else process.exitCode = args.length > 0 ? await run(process.execPath, [...JEST, ...args], JEST_MS) : await all();
