import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram, type ProgramOptions } from "../../local/harness/program.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";

/** Files of quick tests at a time: they wait on sockets now and then, so one more than there are cores. */
export const QUICK_AT_A_TIME = Math.min(availableParallelism(), 8) + 1;
/** Files of slow tests at a time: each starts processes of its own. */
export const SLOW_AT_A_TIME = Math.min(availableParallelism(), 4);

/** What must stand after node to start jest. */
export const JEST = [join(ROOT, "node_modules", "jest", "bin", "jest.js")] as const;

/** What is read of jest's report. */
export interface JestReport {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numRuntimeErrorTestSuites: number;
  testResults: {
    /** What is said of a file that failed; "" else. */
    message?: string;
    /** Path of the test file. */
    name: string;
    status: string;
    assertionResults: { status: string; title: string; ancestorTitles: string[] }[];
  }[];
}

/** A run of jest: its exit status, and its report where it wrote one. */
export interface JestRun {
  status: number;
  report: JestReport | null;
}

/** What a run comes to. */
export interface Counts {
  passed: number;
  failed: number;
}

/** Runs jest with `args` besides its own, and reads its report. `atATime`: files that run side by side. */
export async function runJest(
  args: readonly string[],
  { atATime = QUICK_AT_A_TIME, ...options }: ProgramOptions & { atATime?: number },
): Promise<JestRun> {
  const folder = mkdtempSync(join(tmpdir(), "callagent-jest-"));
  const file = join(folder, "report.json");
  try {
    const own = [`--maxWorkers=${atATime}`, "--json", `--outputFile=${file}`];
    const status = await runProgram(process.execPath, [...JEST, ...own, ...args], options);
    return { status, report: existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as JestReport) : null };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** How many tests failed; a run that broke off without a report, or failed without saying in which test, counts as one. */
export function failuresOf({ status, report }: JestRun): number {
  const failed = report === null ? 0 : report.numFailedTests + report.numRuntimeErrorTestSuites;
  return failed === 0 && (status !== 0 || report === null) ? 1 : failed;
}

/** What a run comes to. A test that is skipped is neither. */
export const countsOf = (run: JestRun): Counts => ({
  passed: run.report?.numPassedTests ?? 0,
  failed: failuresOf(run),
});
