import { relative } from "node:path";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import { failuresOf, runJest, type JestRun } from "../jest/run-jest.ts";
import { LEFT_OUT, type Outcome, type Step } from "./outcome.ts";

const SUITE_MS = 1_800_000;
/** Time of a test or hook that names none: a real database makes the indexes of eleven services while other tests use it. */
const TEST_MS = 120_000;

interface Told {
  name: string;
  /** The title that says why it was left out, where one does. */
  reason: string | undefined;
}

const testsOf = ({ report }: JestRun, status: string): Told[] =>
  (report?.testResults ?? []).flatMap((file) =>
    file.assertionResults
      .filter((test) => test.status === status)
      .map(({ title, ancestorTitles }) => {
        const reason = ancestorTitles.find((t) => t.startsWith(LEFT_OUT));
        const titles = [...ancestorTitles.filter((t) => t !== reason), title];
        return { reason, name: [relative(ROOT, file.name), ...titles].join(" > ") };
      }),
  );

/** What a run of jest says. A test that was skipped without a reason counts as failed: it would be missed silently. */
export function readRun(run: JestRun): Outcome {
  const pending = testsOf(run, "pending");
  const silent = pending.filter((t) => t.reason === undefined).map((t) => `${t.name} (skipped without a reason)`);
  const broken = (run.report?.testResults ?? [])
    .filter((file) => file.assertionResults.length === 0)
    .map((file) => `${relative(ROOT, file.name)} (did not run)`);
  const failed = testsOf(run, "failed").map(({ name }) => name);
  return {
    passed: run.report?.numPassedTests ?? 0,
    failed: failuresOf(run) + silent.length,
    skipped: pending.flatMap(({ name, reason }) => (reason === undefined ? [] : [{ name, reason }])),
    said: [...failed, ...silent, ...broken].join("\n"),
  };
}

/** Tests of the files whose paths match one of the patterns. `more`: variables of the run beside the part's own. `limitMs`: the longest that they may take. */
export const jestStep = (
  name: string,
  isShort: boolean,
  patterns: readonly string[],
  more: Readonly<Record<string, string>> = {},
  limitMs = SUITE_MS,
): Step => ({
  name,
  isShort,
  async run(env, log) {
    return readRun(
      await runJest([`--testTimeout=${TEST_MS}`, ...patterns], { limitMs, env: { ...env, ...more }, log }),
    );
  },
});
