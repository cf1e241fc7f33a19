import type { TSchema } from "../contracts/define.ts";
import type { ValidationIssue } from "../errors.ts";
import { jsonBytes } from "../json.ts";
import { cpuUsedMs } from "../process/cpu-limit.ts";
import { MS_PER_SECOND, type Clock } from "../time/clock.ts";
import { checkTurns, type CheckOwner } from "./check-turns.ts";
import { CHECK_MS, LOOK_MS, schemaIssues, uncheckable, unlimitedCheck, type JsonSchema } from "./client-schema.ts";
import { schemaThread } from "./schema-thread.ts";
import { weightOf } from "./schema-weight.ts";

/**
 * Clients' schemas as a service uses them: looked at and held against values in a thread of their own, by turns of the tenants. What is known to take no more than
 * a few milliseconds is done at once, on the event loop.
 */

/** The heaviest schema that is compiled on the event loop, and its bytes as JSON at most. */
const LIGHT = { weight: 250, bytes: 8192 };
/** Work on the event loop (a schema's weight times a value's bytes), and faults of a value that are looked at there. */
const LIGHT_WORK = 100_000;
const LIGHT_FAULTS = 500;
/** Weight that the event loop compiles at once and each second: a unit takes a tenth of a millisecond, so a fiftieth of its time. */
const COMPILED = { at_once: 3000, per_second: 200 };

/** Processor time that the values of one request may take to be checked, ms. */
export interface CheckBudget {
  left: number;
}

/** The budget of one request. */
export const checkBudget = (): CheckBudget => ({ left: CHECK_MS });

/** A schema by which values are checked. */
export interface TenantCheck {
  readonly schema: JsonSchema | TSchema;
  /** The issues of a value where they are known at once; null: the thread is to be asked, by `TenantSchemas.issuesOf`. */
  here(value: unknown): ValidationIssue[] | null;
}

/** A schema, and where it stands in what was sent. */
export interface PlacedSchema {
  schema: JsonSchema;
  path: string;
}

/** Clients' schemas in a service. */
export interface TenantSchemas {
  checkOf(schema: JsonSchema | TSchema): TenantCheck;
  /** What is wrong with a value, in its owner's turn; it goes off the budget. Null: the owner's turn is too far off, and nothing was checked. */
  issuesOf(
    owner: CheckOwner,
    check: TenantCheck,
    value: unknown,
    budget: CheckBudget,
  ): Promise<ValidationIssue[] | null>;
  /** What is wrong with each of the schemas, in order. Null as above. */
  issuesIn(owner: CheckOwner, schemas: readonly PlacedSchema[]): Promise<ValidationIssue[][] | null>;
  close(): Promise<void>;
}

/** What may still be compiled on the event loop. */
function allowance(clock: Pick<Clock, "monotonicMs">) {
  let left = COMPILED.at_once;
  let at = clock.monotonicMs();
  return {
    take(weight: number): boolean {
      const now = clock.monotonicMs();
      left = Math.min(COMPILED.at_once, left + ((now - at) / MS_PER_SECOND) * COMPILED.per_second);
      at = now;
      if (left < weight) return false;
      left -= weight;
      return true;
    },
  };
}

const lightWeight = (schema: JsonSchema | TSchema): number =>
  JSON.stringify(schema).length > LIGHT.bytes ? Infinity : weightOf(schema, LIGHT.weight);

/** The check of a schema that is compiled when the event loop may, and not before its first value. */
function tenantCheck(schema: JsonSchema | TSchema, mayCompile: (weight: number) => boolean): TenantCheck {
  let weight: number | null = null;
  let check: ReturnType<typeof unlimitedCheck> | null = null;
  return {
    schema,
    here(value) {
      weight ??= lightWeight(schema);
      if (weight === Infinity || weight * jsonBytes(value) > LIGHT_WORK) return null;
      if (check === null && !mayCompile(weight)) return null;
      try {
        check ??= unlimitedCheck(schema, LIGHT_FAULTS);
        return check(value);
      } catch (error) {
        return uncheckable(error);
      }
    },
  };
}

/** Clients' schemas in a service, which ends their thread by `close`. */
export function tenantSchemas(clock: Clock): TenantSchemas {
  const turns = checkTurns(clock);
  const thread = schemaThread(clock);
  const may = allowance(clock);

  async function judged(check: TenantCheck, value: unknown, ms: number) {
    const began = cpuUsedMs();
    const result = check.here(value);
    if (result) return { result, used_ms: cpuUsedMs() - began };
    const answer = await thread.ask({ schema: JSON.stringify(check.schema), value: JSON.stringify(value), ms });
    if (answer === null) return null;
    return answer === "lost"
      ? { result: uncheckable(), used_ms: ms }
      : { result: answer.issues, used_ms: answer.used_ms };
  }

  async function looked({ schema, path }: PlacedSchema, ms: number) {
    const weight = lightWeight(schema);
    const began = cpuUsedMs();
    if (weight < Infinity && may.take(weight))
      return { result: schemaIssues(schema, path, ms), used_ms: cpuUsedMs() - began };
    const answer = await thread.ask({ schema: JSON.stringify(schema), path, ms: Math.max(1, ms) });
    if (answer === null) return null;
    return answer === "lost"
      ? { result: [{ path, message: "takes too long to compile; make it simpler" }], used_ms: ms }
      : { result: answer.issues, used_ms: answer.used_ms };
  }

  return {
    checkOf: (schema) => tenantCheck(schema, (weight) => may.take(weight)),
    issuesOf: (owner, check, value, budget) =>
      turns.take(owner, async () => {
        if (budget.left <= 0) return { result: uncheckable(), used_ms: 0 };
        const done = await judged(check, value, budget.left);
        if (done) budget.left -= done.used_ms;
        return done;
      }),
    issuesIn: (owner, schemas) =>
      turns.take(owner, async () => {
        const result: ValidationIssue[][] = [];
        let used_ms = 0;
        for (const placed of schemas) {
          const done = await looked(placed, LOOK_MS - used_ms);
          if (done === null) return null;
          result.push(done.result);
          used_ms += done.used_ms;
        }
        return { result, used_ms };
      }),
    close: () => thread.close(),
  };
}
