import { countsOf, failedFiles, type JestRun } from "./run-jest.ts";

/** A run of files: each with how many of its tests passed and failed. */
function ran(files: Record<string, [passed: number, failed: number]>, status?: number): JestRun {
  const all = Object.entries(files);
  const failed = all.reduce((sum, [, [, n]]) => sum + n, 0);
  return {
    status: status ?? (failed > 0 ? 1 : 0),
    report: {
      numPassedTests: all.reduce((sum, [, [n]]) => sum + n, 0),
      numFailedTests: failed,
      numPendingTests: 0,
      numRuntimeErrorTestSuites: 0,
      testResults: all.map(([name, [, n]]) => ({
        name,
        status: n > 0 ? "failed" : "passed",
        assertionResults: [],
      })),
    },
  };
}

test("only the files that failed are named, and none where the run broke off", () => {
  expect(failedFiles(ran({ a: [3, 0], b: [2, 1], c: [0, 4] }))).toEqual(["b", "c"]);
  expect(failedFiles({ status: 1, report: null })).toEqual([]);
});

test.each<[string, JestRun, JestRun | undefined, [number, number]]>([
  ["nothing failed", ran({ a: [3, 0] }), undefined, [3, 0]],
  ["one failed, and nothing was run again", ran({ a: [2, 1] }), undefined, [2, 1]],
  ["two failed, and pass alone", ran({ a: [2, 2], b: [5, 0] }), ran({ a: [4, 0] }), [9, 0]],
  ["one of two fails alone too", ran({ a: [2, 2], b: [5, 0] }), ran({ a: [3, 1] }), [8, 1]],
  ["more fail than before", ran({ a: [2, 1] }), ran({ a: [1, 2] }), [2, 2]],
  ["the second run broke off", ran({ a: [2, 1] }), { status: 1, report: null }, [2, 1]],
  ["the first broke off", { status: 1, report: null }, undefined, [0, 1]],
  ["a run that ended badly without a failure", ran({ a: [2, 0] }, 1), undefined, [2, 1]],
])("%s", (_, first, again, [passed, failed]) => {
  expect(countsOf(first, again)).toEqual({ passed, failed });
});
