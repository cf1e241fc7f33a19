/** Executing one operation of a test and judging its result. */
import { type Doc, shown } from "../expectations/bson-values.ts";
import { collectionOperations } from "./collection-operations.ts";
import type { Entity, EntityMap } from "./entities.ts";
import { errorDifferences } from "../expectations/expected-error.ts";
import { assertNoMismatch, ExpectationFailure, RunnerError } from "../runner-errors.ts";
import { match, type Rootness } from "../expectations/value-match.ts";
import { OpenCursor } from "./open-cursor.ts";
import { type Operation, prepare } from "./operation.ts";
import { clientOperations, cursorOperations, databaseOperations, sessionOperations } from "./other-operations.ts";
import { resultValue } from "../expectations/driver-results.ts";
import { runnerOperation } from "./runner-operations.ts";
import type { ServerUnderTest } from "../server-under-test.ts";
import { documentAt, flagAt, onlyKeys, stringAt } from "../field-readers.ts";

type Ready = { yields: Rootness; run: () => Promise<unknown> };

function ready<Target>(
  operations: Readonly<Record<string, Operation<Target>>>,
  target: Target,
  name: string,
  kind: string,
  args: Doc,
): Ready {
  const operation = Object.hasOwn(operations, name) ? operations[name] : undefined;
  if (operation === undefined) throw new RunnerError(`unknown operation "${name}" on a ${kind}`);
  const { given, options } = prepare(name, operation, args);
  return { yields: operation.yields, run: () => operation.run(target, given, options) };
}

function readyOn(entity: Entity, name: string, args: Doc): Ready {
  switch (entity.kind) {
    case "client":
      return ready(clientOperations, entity.client, name, entity.kind, args);
    case "database":
      return ready(databaseOperations, entity.database, name, entity.kind, args);
    case "collection":
      return ready(collectionOperations, entity.collection, name, entity.kind, args);
    case "session":
      return ready(sessionOperations, entity.session, name, entity.kind, args);
    case "cursor":
      return ready(cursorOperations, entity.open, name, entity.kind, args);
    case "value":
      throw new RunnerError(`operation "${name}" cannot run on a saved value`);
  }
}

function resolveSession(args: Doc, entities: EntityMap): Doc {
  if (args["session"] === undefined) return args;
  return { ...args, session: entities.get(stringAt("session", args["session"]), "session").session };
}

type Outcome = { result: unknown } | { error: unknown };

async function attempt(run: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { result: resultValue(await run()) };
  } catch (error) {
    // A fault of the file or the runner is no outcome of the operation, whatever the test expects.
    if (error instanceof RunnerError) throw error;
    return { error };
  }
}

function save(name: string, result: unknown, entities: EntityMap): void {
  if (result === undefined) throw new RunnerError(`saveResultAsEntity ${name}: the operation has no result`);
  entities.set(
    name,
    result instanceof OpenCursor ? { kind: "cursor", open: result } : { kind: "value", value: result },
  );
}

function checkOutcome(operation: Doc, yields: Rootness, outcome: Outcome, entities: EntityMap): void {
  const name = stringAt("name", operation["name"]);
  const { expectError, expectResult } = operation;
  if (expectError !== undefined) {
    if (!("error" in outcome))
      throw new ExpectationFailure(
        `${name} should have failed with ${shown(expectError)}, but gave ${shown(outcome.result)}`,
      );
    assertNoMismatch(
      `${name}: another error than expected`,
      errorDifferences(documentAt("expectError", expectError), outcome.error, entities),
    );
    return;
  }
  if ("error" in outcome) throw outcome.error;
  if ("expectResult" in operation)
    assertNoMismatch(
      `${name}: another result than expected`,
      match(expectResult, outcome.result, entities, "result", yields),
    );
}

/**
 * Runs one operation of a test (already Extended-JSON-parsed). Throws ExpectationFailure if its result or error is not
 * the expected one, RunnerFault if the file asks for something unknown, the driver's error if it was not expected.
 */
export async function executeOperation(operation: Doc, entities: EntityMap, server: ServerUnderTest): Promise<void> {
  onlyKeys("an operation", operation, [
    "name",
    "object",
    "arguments",
    "ignoreResultAndError",
    "expectError",
    "expectResult",
    "saveResultAsEntity",
  ]);
  const name = stringAt("name", operation["name"]);
  const object = stringAt("object", operation["object"]);
  const args =
    operation["arguments"] === undefined ? {} : documentAt(`the arguments of ${name}`, operation["arguments"]);
  if (object === "testRunner") return runnerOperation(name, args, entities, server);
  const { expectError, saveResultAsEntity } = operation;
  if (expectError !== undefined && ("expectResult" in operation || saveResultAsEntity !== undefined))
    throw new RunnerError(`${name}: expectError excludes expectResult and saveResultAsEntity`);
  const { yields, run } = readyOn(entities.any(object), name, resolveSession(args, entities));
  const outcome = await attempt(run);
  if (flagAt("ignoreResultAndError", operation["ignoreResultAndError"], false)) return undefined;
  checkOutcome(operation, yields, outcome, entities);
  if (saveResultAsEntity !== undefined && "result" in outcome)
    save(stringAt("saveResultAsEntity", saveResultAsEntity), outcome.result, entities);
  return undefined;
}
