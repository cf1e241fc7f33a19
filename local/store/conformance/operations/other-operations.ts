/** Operations on clients, databases, sessions and cursors. */
import type { ClientSession, Db, Document, MongoClient, RunCommandCursor } from "mongodb";
import { clientBulkWriteDocument, clientModel } from "./client-bulk-write.ts";
import { AGGREGATE_OPTIONS } from "./collection-operations.ts";
import type { Doc } from "../expectations/bson-values.ts";
import { RunnerError } from "../runner-errors.ts";
import { OpenCursor } from "./open-cursor.ts";
import type { Operation } from "./operation.ts";
import { documentAt, documentsAt, stringAt } from "../field-readers.ts";

const CREATE = [
  "capped",
  "changeStreamPreAndPostImages",
  "clusteredIndex",
  "collation",
  "encryptedFields",
  "expireAfterSeconds",
  "indexOptionDefaults",
  "max",
  "pipeline",
  "size",
  "storageEngine",
  "timeseries",
  "validationAction",
  "validationLevel",
  "validator",
  "viewOn",
];

const filter = (given: Doc): Doc => (given["filter"] === undefined ? {} : documentAt("filter", given["filter"]));

function command(given: Doc): Document {
  const sent = documentAt("command", given["command"]);
  const name = stringAt("commandName", given["commandName"]);
  if (Object.keys(sent)[0] !== name)
    throw new RunnerError(`commandName is ${name}, but it is not the first key of the command`);
  return sent;
}

function commandCursor(target: Db, given: Doc, options: Document): RunCommandCursor {
  const { batchSize, maxTimeMS, comment, ...rest } = options;
  const cursor = target.runCursorCommand(command(given), rest);
  if (typeof batchSize === "number") cursor.setBatchSize(batchSize);
  if (typeof maxTimeMS === "number") cursor.setMaxTimeMS(maxTimeMS);
  if (comment !== undefined) cursor.setComment(comment);
  return cursor;
}

/** Database operations by their name in test files. */
export const databaseOperations: Readonly<Record<string, Operation<Db>>> = {
  aggregate: {
    needs: ["pipeline"],
    options: AGGREGATE_OPTIONS,
    yields: "roots",
    run: (target, given, options) => target.aggregate(documentsAt("pipeline", given["pipeline"]), options).toArray(),
  },
  createCollection: {
    needs: ["collection"],
    options: CREATE,
    yields: "nested",
    run: async (target, given, options) => {
      await target.createCollection(stringAt("collection", given["collection"]), options);
    },
  },
  dropCollection: {
    needs: ["collection"],
    options: ["encryptedFields"],
    yields: "nested",
    run: (target, given, options) => target.dropCollection(stringAt("collection", given["collection"]), options),
  },
  dropDatabase: { yields: "nested", run: (target, _given, options) => target.dropDatabase(options) },
  modifyCollection: {
    needs: ["collection"],
    options: [
      "changeStreamPreAndPostImages",
      "index",
      "pipeline",
      "validationAction",
      "validationLevel",
      "validator",
      "viewOn",
    ],
    yields: "root",
    run: (target, given, { session, writeConcern, ...fields }) =>
      target.command(
        {
          collMod: stringAt("collection", given["collection"]),
          ...fields,
          ...(writeConcern === undefined ? {} : { writeConcern }),
        },
        session === undefined ? {} : { session },
      ),
  },
  listCollections: {
    may: ["filter"],
    options: ["authorizedCollections", "batchSize", "nameOnly"],
    yields: "roots",
    run: (target, given, options) => target.listCollections(filter(given), options).toArray(),
  },
  listCollectionNames: {
    may: ["filter"],
    options: ["authorizedCollections", "batchSize"],
    yields: "nested",
    run: async (target, given, options) =>
      (await target.listCollections(filter(given), { ...options, nameOnly: true }).toArray()).map(
        (found) => found.name,
      ),
  },
  runCommand: {
    needs: ["command", "commandName"],
    yields: "root",
    run: (target, given, options) => target.command(command(given), options),
  },
  runCursorCommand: {
    needs: ["command", "commandName"],
    options: ["batchSize", "cursorType", "timeoutMode"],
    yields: "roots",
    run: (target, given, options) => commandCursor(target, given, options).toArray(),
  },
  createCommandCursor: {
    needs: ["command", "commandName"],
    options: ["batchSize", "cursorType", "timeoutMode"],
    yields: "nested",
    run: (target, given, options) => OpenCursor.open(commandCursor(target, given, options)),
  },
};

/** Client operations by their name in test files. */
export const clientOperations: Readonly<Record<string, Operation<MongoClient>>> = {
  listDatabases: {
    may: ["filter"],
    options: ["authorizedDatabases", "nameOnly"],
    yields: "roots",
    run: async (target, given, options) => {
      const where = given["filter"] === undefined ? {} : { filter: filter(given) };
      return (
        await target
          .db("admin")
          .admin()
          .listDatabases({ ...options, ...where })
      ).databases;
    },
  },
  listDatabaseNames: {
    may: ["filter"],
    options: ["authorizedDatabases"],
    yields: "nested",
    run: async (target, given, options) => {
      const where = given["filter"] === undefined ? {} : { filter: filter(given) };
      return (
        await target
          .db("admin")
          .admin()
          .listDatabases({ ...options, ...where, nameOnly: true })
      ).databases.map((found) => found.name);
    },
  },
  clientBulkWrite: {
    needs: ["models"],
    options: ["bypassDocumentValidation", "let", "ordered", "verboseResults"],
    yields: "root",
    run: async (target, given, options) =>
      clientBulkWriteDocument(await target.bulkWrite(documentsAt("models", given["models"]).map(clientModel), options)),
  },
  close: { yields: "nested", run: (target) => target.close() },
};

/** Session operations by their name in test files. */
export const sessionOperations: Readonly<Record<string, Operation<ClientSession>>> = {
  endSession: { yields: "nested", run: (target) => target.endSession() },
};

/** Cursor operations by their name in test files. */
export const cursorOperations: Readonly<Record<string, Operation<OpenCursor>>> = {
  iterateUntilDocumentOrError: { yields: "root", run: (open) => open.iterate(() => open.cursor.next()) },
  iterateOnce: { yields: "root", run: (open) => open.iterate(() => open.cursor.tryNext()) },
  close: {
    yields: "nested",
    run: async (open) => {
      await open.cursor.close().catch(() => undefined);
    },
  },
};
