/** Features of the format that are refused, by name and with the reason. Anything else that is unknown is a failure. */
import { type Doc, isDocument } from "./bson-values.ts";

const TRANSACTIONS = "multi-document transactions are not offered by the embedded store";
const CHANGE_STREAMS = "change streams are not offered by the embedded store";
const VIEWS = "views are not offered by the embedded store";
const NULL_ID =
  "the driver puts an ObjectId in place of a null _id before it sends the insert (NODE-6468; its own suite leaves these out)";
const SEARCH = "search indexes exist on Atlas only";
const THREADS = "this runner has no test threads and observes no topology";
const POOLS = "this runner observes commands, not connection pools and topologies";
const ENCRYPTION = "client-side encryption is not part of this project";

const OPERATIONS: Readonly<Record<string, string>> = {
  targetedFailPoint: TRANSACTIONS,
  startTransaction: TRANSACTIONS,
  commitTransaction: TRANSACTIONS,
  abortTransaction: TRANSACTIONS,
  withTransaction: TRANSACTIONS,
  assertSessionTransactionState: TRANSACTIONS,
  assertSessionPinned: TRANSACTIONS,
  assertSessionUnpinned: TRANSACTIONS,
  createChangeStream: CHANGE_STREAMS,
  createSearchIndex: SEARCH,
  createSearchIndexes: SEARCH,
  dropSearchIndex: SEARCH,
  updateSearchIndex: SEARCH,
  listSearchIndexes: SEARCH,
  runOnThread: THREADS,
  waitForThread: THREADS,
  recordTopologyDescription: THREADS,
  assertTopologyType: THREADS,
  waitForPrimaryChange: THREADS,
  assertNumberConnectionsCheckedOut: POOLS,
  loop: "loops belong to Atlas' planned-maintenance tests",
};

const ENTITIES: Readonly<Record<string, string>> = {
  clientEncryption: ENCRYPTION,
  bucket: "GridFS is not part of this project",
  thread: THREADS,
};

const CLIENT_KEYS: Readonly<Record<string, string>> = {
  autoEncryptOpts: ENCRYPTION,
  observeLogMessages: "the driver's log messages are not observed",
  storeEventsAsEntities: "event lists belong to Atlas' planned-maintenance tests",
  awaitMinPoolSizeMS: POOLS,
};

const POOL_EVENT = /^(?:pool|connection|server|topology)/;

function listed(value: unknown): Doc[] {
  return Array.isArray(value) ? value.filter(isDocument) : [];
}

function refusedEntity(entity: Doc): string | undefined {
  const kind = Object.keys(entity).find((name) => ENTITIES[name] !== undefined);
  if (kind !== undefined) return `${kind} entity: ${ENTITIES[kind]}`;
  const client = entity["client"];
  if (!isDocument(client)) return undefined;
  const key = Object.keys(client).find((name) => CLIENT_KEYS[name] !== undefined);
  if (key !== undefined) return `${key}: ${CLIENT_KEYS[key]}`;
  const observed = client["observeEvents"];
  const event = Array.isArray(observed)
    ? observed.find((name) => typeof name === "string" && POOL_EVENT.test(name))
    : undefined;
  return event === undefined ? undefined : `${String(event)}: ${POOLS}`;
}

/** The documents that an operation inserts through the driver, which looks at their _id. */
function inserted(args: Doc): Doc[] {
  const requests = [...listed(args["requests"]), ...listed(args["models"])]
    .map((request) => request["insertOne"])
    .filter(isDocument);
  return [args["document"], ...listed(args["documents"]), ...requests.map((request) => request["document"])].filter(
    isDocument,
  );
}

function refusedOperation(operation: Doc, embedded: boolean): string | undefined {
  const { name, object } = operation;
  if (typeof name === "string" && Object.hasOwn(OPERATIONS, name)) return `${name}: ${OPERATIONS[name]}`;
  const args = isDocument(operation["arguments"]) ? operation["arguments"] : {};
  if (inserted(args).some((document) => document["_id"] === null)) return `insert of a null _id: ${NULL_ID}`;
  if (embedded && name === "createCollection" && args["viewOn"] !== undefined)
    return `createCollection with viewOn: ${VIEWS}`;
  return object === "testRunner" && name === "createEntities"
    ? firstOf(listed(args["entities"]), refusedEntity)
    : undefined;
}

function firstOf(values: readonly Doc[], find: (value: Doc) => string | undefined): string | undefined {
  for (const value of values) {
    const found = find(value);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Why a test of a file is refused, "feature: reason"; undefined if nothing in it is. Takes the raw JSON. `embedded`:
 * it would run on the embedded store, not on a MongoDB that has what the store leaves out.
 */
export function refusalOf(file: Doc, test: Doc, embedded: boolean): string | undefined {
  if (test["expectLogMessages"] !== undefined) return "expectLogMessages: the driver's log messages are not observed";
  const otherEvents = listed(test["expectEvents"]).find(
    (events) => events["eventType"] === "cmap" || events["eventType"] === "sdam",
  );
  if (otherEvents !== undefined) return `${String(otherEvents["eventType"])} events: ${POOLS}`;
  return (
    firstOf(listed(test["operations"]), (operation) => refusedOperation(operation, embedded)) ??
    firstOf(listed(file["createEntities"]), refusedEntity)
  );
}
