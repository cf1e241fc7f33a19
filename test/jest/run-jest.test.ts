import { countsOf, type JestRun } from "./run-jest.ts";

/** A run of jest in which so many tests passed and failed, and so many files did not load. */
const ran = (passed: number, failed: number, broken = 0, status = failed + broken > 0 ? 1 : 0): JestRun => ({
  status,
  report: {
    numPassedTests: passed,
    numFailedTests: failed,
    numPendingTests: 0,
    numRuntimeErrorTestSuites: broken,
    testResults: [],
  },
});

test.each<[string, JestRun, [passed: number, failed: number]]>([
  ["nothing failed", ran(3, 0), [3, 0]],
  ["one test failed", ran(2, 1), [2, 1]],
  ["a file did not load", ran(2, 1, 1), [2, 2]],
  ["a run that broke off without a report", { status: 1, report: null }, [0, 1]],
  ["a run that ended badly without a failure", ran(2, 0, 0, 1), [2, 1]],
])("%s", (_, run, [passed, failed]) => {
  expect(countsOf(run)).toEqual({ passed, failed });
});
