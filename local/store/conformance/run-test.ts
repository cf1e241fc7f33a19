/** Executing one test of a file: data, entities, operations, then events and outcome. */
import { MongoNetworkError, MongoServerError, MongoServerSelectionError } from "mongodb";
import { type Doc, fromExtendedJson } from "./expectations/bson-values.ts";
import { assertCollection, setUpCollection } from "./collection-data.ts";
import { createEntity, EntityMap } from "./operations/entities.ts";
import { matchEvents } from "./expectations/command-events.ts";
import { executeOperation } from "./operations/execute-operation.ts";
import { assertNoMismatch, ExpectationFailure, type Mismatch } from "./runner-errors.ts";
import type { ServerUnderTest } from "./server-under-test.ts";
import { documentAt, documentsAt, flagAt, onlyKeys, optionalDocumentsAt, stringAt } from "./field-readers.ts";

/** Longest one test may take. */
const TEST_TIMEOUT_MS = 30_000;

/** Why a test failed: one sentence, and the differences if it was a comparison. */
export interface Failure {
  reason: string;
  mismatches: readonly Mismatch[];
}

/** The server went away while its data was being prepared: no further test can say anything. */
export class ServerGone extends Error {
  override readonly name = "ServerGone";
}

async function prepareData(file: Doc, server: ServerUnderTest): Promise<void> {
  try {
    for (const data of optionalDocumentsAt("initialData", file["initialData"])) await setUpCollection(data, server);
  } catch (error) {
    if (error instanceof MongoServerSelectionError || error instanceof MongoNetworkError)
      throw new ServerGone(`the server no longer answers: ${error.message}`, { cause: error });
    throw error;
  }
}

function assertEvents(test: Doc, entities: EntityMap): void {
  for (const expected of optionalDocumentsAt("expectEvents", test["expectEvents"])) {
    onlyKeys("expectEvents", expected, ["client", "eventType", "events", "ignoreExtraEvents"]);
    const client = stringAt("expectEvents.client", expected["client"]);
    const { log } = entities.get(client, "client");
    const ignoreExtra = flagAt("ignoreExtraEvents", expected["ignoreExtraEvents"], false);
    assertNoMismatch(
      `other events on ${client} than expected`,
      matchEvents(documentsAt("events", expected["events"]), log.events, ignoreExtra, entities),
    );
  }
}

async function perform(file: Doc, test: Doc, entities: EntityMap, server: ServerUnderTest): Promise<void> {
  await prepareData(file, server);
  for (const entity of optionalDocumentsAt("createEntities", file["createEntities"]))
    createEntity(entity, entities, server);
  for (const operation of documentsAt("operations", test["operations"]))
    await executeOperation(operation, entities, server);
  entities.stopObserving();
  await entities.undo();
  assertEvents(test, entities);
  for (const data of optionalDocumentsAt("outcome", test["outcome"])) await assertCollection(data, server);
}

async function withDeadline(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new ExpectationFailure(`the test did not end within ${TEST_TIMEOUT_MS / 1000} s`)),
      TEST_TIMEOUT_MS,
    );
  });
  try {
    await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/** An unexpected error, in one line: some servers put a whole stack into their message. */
function describe(error: unknown): string {
  const [line = ""] = (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).split("\n");
  return error instanceof MongoServerError ? `${line} (code ${String(error.code)})` : line;
}

/** Runs one test. undefined if it passed; throws only ServerGone. Takes the raw JSON: each test parses its own fresh values. */
export async function runTest(rawFile: Doc, rawTest: Doc, server: ServerUnderTest): Promise<Failure | undefined> {
  const entities = new EntityMap();
  try {
    const file = documentAt("the file", fromExtendedJson(rawFile));
    const test = documentAt("the test", fromExtendedJson(rawTest));
    await withDeadline(perform(file, test, entities, server));
    return undefined;
  } catch (error) {
    if (error instanceof ServerGone) throw error;
    if (error instanceof ExpectationFailure) return { reason: error.message, mismatches: error.mismatches };
    return { reason: describe(error), mismatches: [] };
  } finally {
    await entities.undo().catch(() => undefined);
    await entities.close();
  }
}
