const CALLEES = 400_000;
/** The number of a callee: another one for each `n` below 400,000, each of them a valid one. */
export const calleeNumber = (n: number): string => `+1415${String(5_560_000 + (n % CALLEES)).padStart(7, "0")}`;
