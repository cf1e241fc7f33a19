import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROGRAM_ENV, runProgram } from "../local/harness/program.ts";
import { NATS_SERVER, provide } from "../local/real/needed-programs.ts";
import { PAGE_BROWSERS } from "../local/real/browser/browser.ts";
import { ROOT } from "../local/tools/stack/project-root.ts";
import { TEST, TEST_ALL } from "../local/commands.ts";
import { helpOf } from "../shared/process/command-line.ts";
import { countsOf, JEST, QUICK_AT_A_TIME, runJest, SLOW_AT_A_TIME, type Counts } from "./jest/run-jest.ts";

/**
 * `npm test`: everything the tests need, then types, format, linter and supply chain beside every test that needs no real time to pass.
 * `--all` (`npm run test:all`): the slow ones behind it, which start processes, kill them or wait. With other arguments only jest runs, and they go to it.
 */
const SECOND_MS = 1000;
const CHECK_MS = 300 * SECOND_MS;
const QUICK_MS = 900 * SECOND_MS;
const SLOW_MS = 2400 * SECOND_MS;

const SLOW_FILES = "\\.slow\\.test\\.ts$";

/** The compiler of the tree. The package `typescript` is version 5, which openapi-typescript builds with, and checks nothing here. */
const COMPILER = join(ROOT, "node_modules", "typescript-native", "bin", "tsc");
const bin = (name: string): string => join(ROOT, "node_modules", ".bin", name);

/** What is checked beside the tests: name, command and arguments. */
const CHECKS: readonly (readonly [name: string, command: string, ...args: string[]])[] = [
  // in one thread it takes half the processor time of several, each of which checks what it needs of the others' files anew
  ["type-check", process.execPath, COMPILER, "--noEmit", "--singleThreaded"],
  ["format", bin("oxfmt"), "--check"],
  ["lint", bin("oxlint")],
  ["supply chain", process.execPath, join(ROOT, "deploy", "supply-chain", "check.ts")],
];

const title = (text: string): void => console.log(`\n== ${text}`);

/** One check after the other. What it says is kept until it is asked for, so that it does not lie between the words of the tests. */
async function check(): Promise<() => Counts> {
  const folder = mkdtempSync(join(tmpdir(), "callagent-checks-"));
  const logOf = (name: string): string => join(folder, name.replaceAll(" ", "-"));
  const failed = new Set<string>();
  for (const [name, command, ...args] of CHECKS) {
    const status = await runProgram(command, args, { limitMs: CHECK_MS, log: logOf(name) });
    if (status !== 0) failed.add(name);
  }
  return () => {
    for (const [name] of CHECKS) {
      title(name);
      console.log(failed.has(name) ? `${readFileSync(logOf(name), "utf8")}\n${name}: failed` : `${name}: clean`);
    }
    rmSync(folder, { recursive: true, force: true });
    return { passed: CHECKS.length - failed.size, failed: failed.size };
  };
}

async function tests(name: string, args: readonly string[], options: Parameters<typeof runJest>[1]): Promise<Counts> {
  title(name);
  const run = await runJest(args, options);
  const skipped = run.report?.numPendingTests ?? 0;
  if (skipped > 0) console.log(`${skipped} skipped`);
  const counts = countsOf(run);
  console.log(`${name}: ${counts.passed} passed, ${counts.failed} failed`);
  return counts;
}

async function run(isAll: boolean): Promise<number> {
  for (const [name, needed] of [
    ["nats-server", NATS_SERVER] as const,
    ...(isAll ? [["browsers", PAGE_BROWSERS] as const] : []),
  ]) {
    title(name);
    if (!(await provide(needed))) {
      console.log("\n0 passed, 1 failed");
      return 1;
    }
    console.log("is there");
  }
  // test/fixtures/long-form.ts
  const env = { ...PROGRAM_ENV, ...(isAll && { TEST_REPEATS: "all" }) };
  const [sayChecks, quick] = await Promise.all([
    check(),
    tests("tests", [`--testPathIgnorePatterns=${SLOW_FILES}`], { limitMs: QUICK_MS, atATime: QUICK_AT_A_TIME, env }),
  ]);
  const counts = [sayChecks(), quick];
  if (isAll) counts.push(await tests("slow tests", [SLOW_FILES], { limitMs: SLOW_MS, atATime: SLOW_AT_A_TIME, env }));
  const sum = (of: keyof Counts): number => counts.reduce((total, c) => total + c[of], 0);
  console.log(`\n${sum("passed")} passed, ${sum("failed")} failed`);
  return sum("failed") === 0 ? 0 : 1;
}

const [first, ...rest] = process.argv.slice(2);
const isAll = first === "--all";
const args = isAll || first === undefined ? rest : [first, ...rest];
if (args.includes("--help")) console.log(helpOf(isAll ? TEST_ALL : TEST));
else if (args.length > 0)
  process.exitCode = await runProgram(process.execPath, [...JEST, ...args], { limitMs: SLOW_MS });
else process.exitCode = await run(isAll);
