/** What makes a test fail: an expectation that was not met, or a file the runner cannot take. */

/** One difference: where, what the file expects, what the server or driver gave (both already printed). */
export interface Mismatch {
  place: string;
  expected: string;
  actual: string;
}

/** The file asks for something that is not in the format or not known here. Never satisfies an expectError. */
export class RunnerError extends Error {
  override readonly name = "RunnerFault";
}

/** An assertion of the file did not hold; carries the differences, in order. */
export class ExpectationFailure extends Error {
  override readonly name = "ExpectationFailure";
  readonly mismatches: readonly Mismatch[];

  constructor(what: string, mismatches: readonly Mismatch[] = []) {
    super(what);
    this.mismatches = mismatches;
  }
}

/** Throws an ExpectationFailure if there is any difference. */
export function assertNoMismatch(what: string, mismatches: readonly Mismatch[]): void {
  if (mismatches.length > 0) throw new ExpectationFailure(what, mismatches);
}
