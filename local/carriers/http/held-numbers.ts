/** Shortest and longest a whole number is, in digits (E.164). */
const WHOLE = /^[1-9]\d{6,14}$/;

/**
 * The numbers of an account (E.164) that have these digits in a row, `*` standing for any one digit. `own` null: the account holds every number, so
 * that a whole one is found and no part of one.
 */
export function heldNumbers(own: ReadonlySet<string> | null, sought: string): string[] {
  const digits = sought.replace(/[^\d*]/g, "");
  if (own === null) return WHOLE.test(digits) ? [`+${digits}`] : [];
  const pattern = new RegExp(digits.replaceAll("*", String.raw`\d`));
  return [...own].filter((number) => pattern.test(number));
}
