import { parentPort } from "node:worker_threads";
import { recencyCache } from "../cache.ts";
import type { ValidationIssue } from "../errors.ts";
import { cpuUsedMs } from "../process/cpu-limit.ts";
import { checkOf, schemaIssues, type JsonSchema } from "./client-schema.ts";

/** The thread in which clients' schemas are looked at and values checked by them: one order after the other. */

/** What the thread is asked: to look at a schema, or to check a value by one; JSON texts, and how much processor time it may take, ms. */
export type Order = { schema: string; ms: number } & ({ path: string } | { value: string });

/** What it answers, and the processor time that it took, ms. */
export interface Answer {
  issues: ValidationIssue[];
  used_ms: number;
}

/** Compiled schemas: how many, and their bytes as JSON; compiled they take up to a hundred times as much. */
const KEPT = { schemas: 200, bytes: 1024 * 1024 };

interface Compiled {
  check: ReturnType<typeof checkOf>;
  bytes: number;
}
const compiled = recencyCache<Compiled>({ max: KEPT.schemas, bytes: { max: KEPT.bytes, of: ({ bytes }) => bytes } });

const parsed = (schema: string): JsonSchema => JSON.parse(schema) as JsonSchema;

function checkBy(schema: string): Compiled["check"] {
  const known = compiled.get(schema);
  if (known) return known.check;
  const made = { check: checkOf(parsed(schema)), bytes: schema.length };
  compiled.set(schema, made);
  return made.check;
}

parentPort?.on("message", (order: Order) => {
  const began = cpuUsedMs();
  const issues =
    "path" in order
      ? schemaIssues(parsed(order.schema), order.path, order.ms)
      : checkBy(order.schema)(JSON.parse(order.value), order.ms);
  const answer: Answer = { issues, used_ms: cpuUsedMs() - began };
  parentPort?.postMessage(answer); // oxlint-disable-line unicorn/require-post-message-target-origin -- a thread, no window
});
