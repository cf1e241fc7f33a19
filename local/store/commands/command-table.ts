import { Double } from "bson";
import { REST, sliced, type Slices } from "../budget.ts";
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
import type { Doc } from "../bson/values.ts";
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

/** Waits for the first sending of a retryable write while that is still at work on another connection. */
function* once(call: Call, key: string, write: () => Slices<Uint8Array>): Slices<Uint8Array> {
  const { retrying } = call.engine;
  while (retrying.has(key)) {
    call.budget.due();
    yield REST;
  }
  retrying.add(key);
  try {
    return yield* write();
  } finally {
    retrying.delete(key);
  }
}

function* run(call: Call): Slices<Uint8Array> {
  const name = Object.keys(call.command)[0] ?? "";
  const handler = HANDLERS.get(name);
  if (handler === undefined && !TRANSACTION_ENDS.has(name)) {
    const advice = REFUSED.get(name);
    if (advice !== undefined)
      throw new StoreError("CommandNotSupported", `${name} is not in the embedded store: ${advice}, or run a MongoDB`);
    throw new StoreError("CommandNotFound", `no such command: '${name}' (not in the embedded store; run a MongoDB)`);
  }
  refuseTransactions(call, name);
  failing(call, name);
  call.budget.limit(maxTimeOf(call.command));
  checkConcerns(call.command);
  const key = RETRYABLE.has(name) ? Retries.keyOf(call.command) : undefined;
  function* reply(): Slices<Uint8Array> {
    const made = handler?.(call) ?? {};
    return encodeReply({ ...(yield* sliced(made)), ok: new Double(1) });
  }
  if (key === undefined) return yield* reply();
  return yield* once(call, `${Buffer.from(key.session).toString("hex")}.${key.txn}`, function* write() {
    const retries = new Retries(call.engine.storage);
    const first = retries.find(key);
    call.progress = first === undefined ? undefined : retries.progressOf(key, first);
    if (first !== undefined && call.progress === undefined) return first;
    call.keepProgress = (progress) => retries.keepProgress(key, progress, call.now.getTime());
    const made = yield* reply();
    retries.keep(key, made, call.now.getTime());
    return made;
  });
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

/** Answers one command, slice by slice. StoreErrors become error replies; anything else is thrown: the caller takes the slice's writes back. */
export function* answer(call: Call): Slices<Uint8Array> {
  try {
    return yield* run(call);
  } catch (error) {
    if (error instanceof StoreError) return errorReply(error);
    throw error;
  } finally {
    if (!call.budget.kept) call.budget.release();
  }
}

/** True for a command that goes on when its client is gone: half of what it was told to write may be written. */
export function writes(command: Doc): boolean {
  return RETRYABLE.has(Object.keys(command)[0] ?? "");
}
