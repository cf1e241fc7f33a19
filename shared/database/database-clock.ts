/*
 * Expressions that are judged by the database's own clock, so that the clocks of the services don't matter. $$NOW itself is written
 * here only, and bound by a $let at the top: inside another operator of a filter not every database that speaks MongoDB's protocol
 * knows it, and in $group or distinct none but MongoDB does. Inside, the bound variable works at any depth.
 */

/** The deployment's time when the command began, within a condition or field given to the functions below. */
export const NOW = "$$now";

/**
 * What the database's clock ought to show: the deployment's time as the asker knows it, and how far the database's clock is ahead of that, ms. A database's
 * clock that is far from there was set, or the command was long on its way: then the asker's time counts. Null: the database's clock counts as it is.
 */
export type DatabaseTime = { now: Date; ahead_ms: number } | null;

/** As long a command may be on its way, and so far the database's clock is believed, ms. */
const BELIEVED_MS = 10_000;

const bound = (expression: unknown, at: DatabaseTime): Record<string, unknown> => {
  const let_ = (vars: Record<string, unknown>, within: unknown): Record<string, unknown> => ({
    $let: { vars, in: within },
  });
  if (at === null) return let_({ now: "$$NOW" }, expression);
  const ought = (ms: number): Date => new Date(at.now.getTime() + at.ahead_ms + ms);
  const believed = { $and: [{ $gte: ["$$clock", ought(-BELIEVED_MS)] }, { $lte: ["$$clock", ought(BELIEVED_MS)] }] };
  const time = at.ahead_ms === 0 ? "$$clock" : { $add: ["$$clock", -at.ahead_ms] };
  return let_({ clock: "$$NOW" }, let_({ now: { $cond: [believed, time, at.now] } }, expression));
};

/** Filter: this condition over a document's fields holds by the database's clock. Not for distinct, nor for an upsert. */
export const whereByClock = (condition: unknown, at: DatabaseTime): { $expr: Record<string, unknown> } => ({
  $expr: bound(condition, at),
});

/** Fields of a projection or of a $set stage, each computed by the database's clock. */
export const fieldsByClock = (
  fields: Readonly<Record<string, unknown>>,
  at: DatabaseTime,
): Record<string, Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields).map(([name, expression]) => [name, bound(expression, at)]));
