/*
 * Expressions that are judged by the database's own clock, so that the clocks of the services don't matter. $$NOW itself is written
 * here only, and bound by a $let at the top: inside another operator of a filter not every database that speaks MongoDB's protocol
 * knows it, and in $group or distinct none but MongoDB does. Inside, the bound variable works at any depth.
 */

/** The database's time when the command began, within a condition or field given to the functions below. */
export const NOW = "$$now";

const bound = (expression: unknown): Record<string, unknown> => ({
  $let: { vars: { now: "$$NOW" }, in: expression },
});

/** Filter: this condition over a document's fields holds by the database's clock. Not for distinct, nor for an upsert. */
export const whereByClock = (condition: unknown): { $expr: Record<string, unknown> } => ({ $expr: bound(condition) });

/** Fields of a projection or of a $set stage, each computed by the database's clock. */
export const fieldsByClock = (fields: Readonly<Record<string, unknown>>): Record<string, Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields).map(([name, expression]) => [name, bound(expression)]));
