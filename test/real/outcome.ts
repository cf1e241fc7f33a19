/** Stands at the head of a title that says why the tests below it are left out (test/fixtures/database-abilities.ts). */
export const LEFT_OUT = "not on this database: ";

/** A test that did not run, and why. */
export interface Skipped {
  name: string;
  reason: string;
}

/** Result of a step. `said`: what a reader of a failure needs to see. */
export interface Outcome {
  passed: number;
  failed: number;
  skipped: readonly Skipped[];
  said: string;
}

/** One step of a run: what is done with the running parts. `log`: the file that its output goes to. */
export interface Step {
  name: string;
  /** False: left out by --short. */
  isShort: boolean;
  run(env: NodeJS.ProcessEnv, log: string): Promise<Outcome>;
}

/** Adds outcomes up. */
export const sumOf = (outcomes: readonly Outcome[]): Outcome => ({
  passed: outcomes.reduce((n, o) => n + o.passed, 0),
  failed: outcomes.reduce((n, o) => n + o.failed, 0),
  skipped: outcomes.flatMap((o) => o.skipped),
  said: outcomes.map((o) => o.said).join(""),
});

/** The skipped tests by name below their reasons. */
export function skippedLines(skipped: readonly Skipped[]): string[] {
  const byReason = Map.groupBy(skipped, (s) => s.reason);
  return [...byReason].flatMap(([reason, tests]) => [
    `skipped, ${tests.length} tests: ${reason}`,
    ...tests.map((t) => `  ${t.name}`),
  ]);
}
