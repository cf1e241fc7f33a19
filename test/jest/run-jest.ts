import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram, type ProgramOptions } from "../../local/harness/program.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";

/** Files at a time, in both lanes (two-lanes.cjs): half as many again as there are cores. With three times as many the machine was so full that tests failed by it. */
const AT_A_TIME = Math.ceil(Math.min(availableParallelism(), 8) * 1.5);

/** What must stand after node to start jest. */
export const JEST = [
  "--experimental-vm-modules",
  "--disable-warning=ExperimentalWarning",
  join(ROOT, "node_modules", "jest", "bin", "jest.js"),
] as const;

/** What is read of jest's report. */
export interface JestReport {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numRuntimeErrorTestSuites: number;
  testResults: {
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

/** Runs jest with `args` besides its own, and reads its report. `alone`: one file after the other. */
export async function runJest(
  args: readonly string[],
  { alone = false, ...options }: ProgramOptions & { alone?: boolean },
): Promise<JestRun> {
  const folder = mkdtempSync(join(tmpdir(), "callagent-jest-"));
  const file = join(folder, "report.json");
  try {
    const own = [`--maxWorkers=${alone ? 1 : AT_A_TIME}`, "--json", `--outputFile=${file}`];
    const status = await runProgram(process.execPath, [...JEST, ...own, ...args], options);
    return { status, report: existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as JestReport) : null };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The test files that failed, by their path; empty where the run broke off. */
export const failedFiles = ({ report }: JestRun): string[] =>
  (report?.testResults ?? []).flatMap(({ name, status }) => (status === "failed" ? [name] : []));

/** How many tests failed; a run that broke off without a report, or failed without saying in which test, counts as one. */
export function failuresOf({ status, report }: JestRun): number {
  const failed = report === null ? 0 : report.numFailedTests + report.numRuntimeErrorTestSuites;
  return failed === 0 && (status !== 0 || report === null) ? 1 : failed;
}

/** What a run comes to, when the files that failed in it were run `again`: what passes then counts as passed. */
export function countsOf(first: JestRun, again?: JestRun): Counts {
  const counts = { passed: first.report?.numPassedTests ?? 0, failed: failuresOf(first) };
  if (again === undefined) return counts;
  const failed = failuresOf(again);
  return { passed: counts.passed + Math.max(0, counts.failed - failed), failed };
}
