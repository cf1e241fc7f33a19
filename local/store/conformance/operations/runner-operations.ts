/** Operations on the object "testRunner": assertions and arrangements that are no driver call. */
import { setTimeout as sleep } from "node:timers/promises";
import { canonicalText, type Doc, isDocument } from "../expectations/bson-values.ts";
import { createEntity, type EntityMap } from "./entities.ts";
import { matchEvent } from "../expectations/command-events.ts";
import { ExpectationFailure, RunnerError } from "../runner-errors.ts";
import type { ServerUnderTest } from "../server-under-test.ts";
import { countAt, documentAt, documentsAt, onlyKeys, stringAt } from "../field-readers.ts";

/** How long waitForEvent waits, as the format prescribes. */
const WAIT_FOR_EVENT_MS = 10_000;
const POLL_MS = 10;
/** Longest `wait` a file may ask for. */
const LONGEST_WAIT_MS = 60_000;

function countEvents(args: Doc, entities: EntityMap): { seen: number; wanted: number } {
  const { log } = entities.get(stringAt("client", args["client"]), "client");
  const expected = documentAt("event", args["event"]);
  const seen = log.events.filter((event) => matchEvent(expected, event, entities, "event").length === 0).length;
  return { seen, wanted: countAt("count", args["count"]) };
}

async function waitForEvent(args: Doc, entities: EntityMap): Promise<void> {
  const end = performance.now() + WAIT_FOR_EVENT_MS;
  for (;;) {
    const { seen, wanted } = countEvents(args, entities);
    if (seen >= wanted) return;
    if (performance.now() > end)
      throw new ExpectationFailure(`waitForEvent: ${seen} of ${wanted} events within ${WAIT_FOR_EVENT_MS} ms`);
    await sleep(POLL_MS);
  }
}

function lastTwoSessionIds(args: Doc, entities: EntityMap): [string, string] {
  const { log } = entities.get(stringAt("client", args["client"]), "client");
  const ids = log.events
    .filter((event) => event.kind === "commandStartedEvent")
    .slice(-2)
    .map((event) => event.body["lsid"]);
  const [first, second] = ids;
  if (!isDocument(first) || !isDocument(second))
    throw new ExpectationFailure("two commands with an lsid should have been sent");
  return [canonicalText(first), canonicalText(second)];
}

async function collectionExists(args: Doc, server: ServerUnderTest): Promise<boolean> {
  const database = server.internal.db(stringAt("databaseName", args["databaseName"]));
  return (
    (await database.listCollections({ name: stringAt("collectionName", args["collectionName"]) }).toArray()).length > 0
  );
}

async function indexExists(args: Doc, server: ServerUnderTest): Promise<boolean> {
  if (!(await collectionExists(args, server))) return false;
  const collection = server.internal
    .db(stringAt("databaseName", args["databaseName"]))
    .collection(stringAt("collectionName", args["collectionName"]));
  const name = stringAt("indexName", args["indexName"]);
  return (await collection.listIndexes().toArray()).some((index: Doc) => index["name"] === name);
}

function expectThat(holds: boolean, otherwise: string): void {
  if (!holds) throw new ExpectationFailure(otherwise);
}

/** Sets a fail point over the client entity and has it switched off after the operations of the test. */
async function setFailPoint(args: Doc, entities: EntityMap, server: ServerUnderTest): Promise<void> {
  const { client } = entities.get(stringAt("client", args["client"]), "client");
  const command = documentAt("failPoint", args["failPoint"]);
  const name = stringAt("configureFailPoint", command["configureFailPoint"]);
  entities.undoLater(async () => {
    await server.internal.db("admin").command({ configureFailPoint: name, mode: "off" });
  });
  await client.db("admin").command(command, { readPreference: "primary" });
}

const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  createEntities: ["entities"],
  failPoint: ["client", "failPoint"],
  wait: ["ms"],
  waitForEvent: ["client", "event", "count"],
  assertEventCount: ["client", "event", "count"],
  assertSameLsidOnLastTwoCommands: ["client"],
  assertDifferentLsidOnLastTwoCommands: ["client"],
  assertCollectionExists: ["databaseName", "collectionName"],
  assertCollectionNotExists: ["databaseName", "collectionName"],
  assertIndexExists: ["databaseName", "collectionName", "indexName"],
  assertIndexNotExists: ["databaseName", "collectionName", "indexName"],
};

function assertEventCount(args: Doc, entities: EntityMap): void {
  const { seen, wanted } = countEvents(args, entities);
  expectThat(seen === wanted, `assertEventCount: ${seen} events instead of ${wanted}`);
}

function assertLsids(args: Doc, entities: EntityMap, same: boolean): void {
  const [first, second] = lastTwoSessionIds(args, entities);
  expectThat(
    (first === second) === same,
    `the last two commands ${same ? "have different session ids" : "have the same session id"}: ${first}, ${second}`,
  );
}

/** Executes a testRunner operation. Throws ExpectationFailure if an assertion fails, RunnerFault if it is unknown. */
export async function runnerOperation(
  name: string,
  args: Doc,
  entities: EntityMap,
  server: ServerUnderTest,
): Promise<void> {
  const allowed = Object.hasOwn(ARGUMENTS, name) ? ARGUMENTS[name] : undefined;
  if (allowed === undefined) throw new RunnerError(`unknown operation "${name}" on the test runner`);
  onlyKeys(`the arguments of ${name}`, args, allowed);
  switch (name) {
    case "createEntities":
      for (const entity of documentsAt("entities", args["entities"])) createEntity(entity, entities, server);
      return;
    case "failPoint":
      await setFailPoint(args, entities, server);
      return;
    case "wait":
      await sleep(Math.min(countAt("ms", args["ms"]), LONGEST_WAIT_MS));
      return;
    case "waitForEvent":
      await waitForEvent(args, entities);
      return;
    case "assertEventCount":
      assertEventCount(args, entities);
      return;
    case "assertSameLsidOnLastTwoCommands":
      assertLsids(args, entities, true);
      return;
    case "assertDifferentLsidOnLastTwoCommands":
      assertLsids(args, entities, false);
      return;
    case "assertCollectionExists":
      expectThat(await collectionExists(args, server), `collection ${String(args["collectionName"])} should exist`);
      return;
    case "assertCollectionNotExists":
      expectThat(
        !(await collectionExists(args, server)),
        `collection ${String(args["collectionName"])} should not exist`,
      );
      return;
    case "assertIndexExists":
      expectThat(await indexExists(args, server), `index ${String(args["indexName"])} should exist`);
      return;
    default:
      expectThat(!(await indexExists(args, server)), `index ${String(args["indexName"])} should not exist`);
  }
}
