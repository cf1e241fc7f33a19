/** Verdicts as lines for a person. Pure. */
import type { FileVerdict, TestVerdict } from "./run-file.ts";

/** Most differences shown of one failed test. */
const SHOWN_MISMATCHES = 12;

function testLines(test: TestVerdict, fileReason: string | undefined): string[] {
  if (test.status === "passed") return [];
  if (test.status === "refused")
    return test.reason === fileReason ? [] : [`    refused "${test.description}": ${test.reason}`];
  const { reason, mismatches } = test.failure;
  const shown = mismatches
    .slice(0, SHOWN_MISMATCHES)
    .flatMap(({ place, expected, actual }) => [
      `        at ${place}`,
      `          - expected ${expected}`,
      `          + actual   ${actual}`,
    ]);
  const more =
    mismatches.length > SHOWN_MISMATCHES
      ? [`        … and ${mismatches.length - SHOWN_MISMATCHES} more differences`]
      : [];
  return [`    failed "${test.description}": ${reason}`, ...shown, ...more];
}

function counts(verdict: FileVerdict): string {
  const { tests } = verdict;
  const total = `${tests.length} ${tests.length === 1 ? "test" : "tests"}`;
  const failed = tests.filter((test) => test.status === "failed").length;
  const refused = tests.filter((test) => test.status === "refused").length;
  const parts = [
    failed > 0 ? `${failed} failed` : "",
    refused > 0 && verdict.status !== "refused" ? `${refused} refused` : "",
  ].filter((part) => part !== "");
  return parts.length > 0 ? `${total}, ${parts.join(", ")}` : total;
}

/** One line on the file, then a few on each of its tests that failed or was refused. */
export function fileLines(verdict: FileVerdict): string[] {
  const reason = verdict.reason === undefined ? "" : ` (${verdict.reason})`;
  return [
    `${verdict.status.padEnd(7)} ${verdict.file} — ${counts(verdict)}${reason}`,
    ...verdict.tests.flatMap((test) => testLines(test, verdict.reason)),
  ];
}

function tally(all: readonly { status: "passed" | "failed" | "refused" }[]): string {
  const of = (status: string): number => all.filter((one) => one.status === status).length;
  return `${of("passed")} passed, ${of("failed")} failed, ${of("refused")} refused`;
}

/** The two closing lines: a count of tests, then the count of files. */
export function closingLines(verdicts: readonly FileVerdict[]): string[] {
  return [`tests: ${tally(verdicts.flatMap((verdict) => verdict.tests))}`, tally(verdicts)];
}
