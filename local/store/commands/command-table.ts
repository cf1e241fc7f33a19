import { Double } from "bson";
import { whole, type Slices } from "../budget.ts";
import { aggregate } from "./aggregate.ts";
import { encodeReply } from "../bson/bson-writer.ts";
import type { Reply } from "../bson/bson-writer.ts";
import { bulkWrite } from "./bulk-write.ts";
import {
  create,
  createIndexes,
  drop,
  dropDatabase,
  dropIndexes,
  listCollections,
  listDatabases,
  listIndexes,
} from "./collections.ts";
import { checkConcerns, maxTimeOf } from "./command-arguments.ts";
import type { Call, Handler } from "./context.ts";
import { StoreError } from "../bson/errors.ts";
import { explain } from "./explain.ts";
import { findAndModify } from "./find-and-modify.ts";
import {
  buildInfo,
  configureFailPoint,
  connectionStatus,
  endSessions,
  getParameter,
  hello,
  serverStatus,
} from "./handshake.ts";
import { count, distinct, find, getMore, killCursors } from "./reads.ts";
import { Retries } from "../storage/retryable-writes.ts";
import { insert, remove, update } from "./writes.ts";

const HANDLERS: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ["hello", hello],
  ["ismaster", hello],
  ["isMaster", hello],
  ["ping", () => ({})],
  ["buildInfo", buildInfo],
  ["buildinfo", buildInfo],
  ["getParameter", getParameter],
  ["serverStatus", serverStatus],
  ["connectionStatus", connectionStatus],
  ["endSessions", endSessions],
  ["killSessions", endSessions],
  ["configureFailPoint", configureFailPoint],
  ["find", find],
  ["getMore", getMore],
  ["killCursors", killCursors],
  ["count", count],
  ["distinct", distinct],
  ["aggregate", aggregate],
  ["explain", explain],
  ["insert", insert],
  ["update", update],
  ["delete", remove],
  ["findAndModify", findAndModify],
  ["findandmodify", findAndModify],
  ["bulkWrite", bulkWrite],
  ["create", create],
  ["drop", drop],
  ["dropDatabase", dropDatabase],
  ["listCollections", listCollections],
  ["listDatabases", listDatabases],
  ["createIndexes", createIndexes],
  ["listIndexes", listIndexes],
  ["dropIndexes", dropIndexes],
]);

/** Commands MongoDB has and this store refuses by name, so that the message can say what to do. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ["collMod", "drop and create the index or collection instead"],
  ["renameCollection", "copy the documents with $out instead"],
  ["mapReduce", "use aggregate"],
  [
    "saslStart",
    "the store listens on the loopback address only and knows no users: leave the credentials out of the URI",
  ],
]);

/** Commands of multi-document transactions. */
const TRANSACTION_ENDS = new Set(["commitTransaction", "abortTransaction"]);
const RETRYABLE = new Set(["insert", "update", "delete", "findAndModify", "findandmodify", "bulkWrite"]);

/** A connection that a staged failure (configureFailPoint) closes without an answer. */
export class ConnectionDropped extends Error {}

function failing(call: Call, name: string): void {
  const failure = call.engine.failures.get(name);
  if (failure === undefined || failure.times <= 0) return;
  failure.times--;
  if (failure.closeConnection) throw new ConnectionDropped();
  if (failure.errorCode !== undefined)
    throw new StoreError(failure.errorCode, "Failing command via 'failCommand' failpoint");
}

function refuseTransactions(call: Call, name: string): void {
  if (TRANSACTION_ENDS.has(name))
    throw new StoreError(
      "NoSuchTransaction",
      `Transaction numbers are only allowed where there are transactions: the embedded store refuses ${name}`,
    );
  if (call.command["startTransaction"] === undefined && call.command["autocommit"] === undefined) return;
  // Not IllegalOperation (20): the driver turns that code into advice about retryable writes.
  throw new StoreError(
    "OperationNotSupportedInTransaction",
    "Multi-document transactions are not supported by the embedded store: write one document at a time, each such write is atomic",
  );
}

function isSliced(made: Reply | Slices<Reply>): made is Slices<Reply> {
  return Symbol.iterator in made;
}

function run(call: Call): Uint8Array {
  const name = Object.keys(call.command)[0] ?? "";
  const handler = HANDLERS.get(name);
  if (handler === undefined && !TRANSACTION_ENDS.has(name)) {
    const advice = REFUSED.get(name);
    if (advice !== undefined)
      throw new StoreError("CommandNotSupported", `${name} is not supported by the embedded store: ${advice}`);
    throw new StoreError("CommandNotFound", `no such command: '${name}'`);
  }
  refuseTransactions(call, name);
  failing(call, name);
  call.budget.limit(maxTimeOf(call.command));
  checkConcerns(call.command);
  const key = RETRYABLE.has(name) ? Retries.keyOf(call.command) : undefined;
  const retries = new Retries(call.engine.storage);
  const first = key === undefined ? undefined : retries.find(key);
  if (first !== undefined) return first;
  const made = handler?.(call) ?? {};
  const reply = encodeReply({ ...(isSliced(made) ? whole(made, call.budget) : made), ok: new Double(1) });
  if (key !== undefined) retries.keep(key, reply, call.now.getTime());
  return reply;
}

/** The encoded answer for an error. */
export function errorReply(error: StoreError): Uint8Array {
  const body: Reply = {
    ok: new Double(0),
    errmsg: error.message,
    code: error.code,
    codeName: error.codeName,
    ...error.extra,
  };
  return encodeReply(body);
}

/** Answers one command. StoreErrors become error replies; anything else is thrown: the caller takes the turn's writes back. */
export function answer(call: Call): Uint8Array {
  try {
    return run(call);
  } catch (error) {
    if (error instanceof StoreError) return errorReply(error);
    throw error;
  }
}
