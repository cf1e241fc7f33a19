import { Double, Long, ObjectId } from "bson";
import { MAX_DOCUMENT_BYTES } from "../bson/bson-writer.ts";
import type { Reply } from "../bson/bson-writer.ts";
import { refuseUnknown } from "./command-arguments.ts";
import { sessionOf } from "./cursors.ts";
import type { Call } from "./context.ts";
import { StoreError } from "../bson/errors.ts";
import { asNumber, isDoc } from "../bson/values.ts";
import type { Doc } from "../bson/values.ts";
import { MAX_MESSAGE_BYTES } from "../wire/messages.ts";

/** The server whose behaviour is followed, and its wire version. */
const VERSION = [8, 0, 0, 0];
const WIRE_VERSION = 25;
const SESSION_MINUTES = 30;
const MAX_BATCH = 100_000;
const SET_NAME = "callagent";
const ELECTION_ID = new ObjectId("7fffffff0000000000000001");

/** hello, isMaster: a primary of a replica set of one, so that drivers use retryable writes and w: "majority" as they do in production. */
export function hello(call: Call): Reply {
  const { address } = call.engine;
  const legacy = call.command["hello"] === undefined;
  return {
    ...(legacy ? { ismaster: true } : {}),
    isWritablePrimary: true,
    secondary: false,
    helloOk: true,
    setName: SET_NAME,
    setVersion: 1,
    electionId: ELECTION_ID,
    hosts: [address],
    primary: address,
    me: address,
    maxBsonObjectSize: MAX_DOCUMENT_BYTES,
    maxMessageSizeBytes: MAX_MESSAGE_BYTES,
    maxWriteBatchSize: MAX_BATCH,
    localTime: call.now,
    logicalSessionTimeoutMinutes: SESSION_MINUTES,
    connectionId: call.connectionId,
    minWireVersion: 0,
    maxWireVersion: WIRE_VERSION,
    readOnly: false,
  };
}

/** buildInfo */
export function buildInfo(): Reply {
  return {
    version: VERSION.slice(0, 3).join("."),
    versionArray: VERSION,
    gitVersion: "callagent-embedded-store",
    modules: [],
    allocator: "node",
    javascriptEngine: "none",
    sysInfo: "deprecated",
    storageEngines: ["sqlite"],
    bits: 64,
    debug: false,
    maxBsonObjectSize: MAX_DOCUMENT_BYTES,
  };
}

/** getParameter: only what test runners ask for. Errors: InvalidOptions for any other parameter. */
export function getParameter(call: Call): Reply {
  const known: Doc = {
    featureCompatibilityVersion: { version: "8.0" },
    requireApiVersion: false,
    enableTestCommands: true,
    authenticationMechanisms: [],
  };
  if (call.command["getParameter"] === "*") return { ...known };
  const asked = Object.keys(call.command).filter((k) => Object.hasOwn(known, k));
  if (asked.length === 0) throw new StoreError("InvalidOptions", "no option found to get");
  return Object.fromEntries(asked.map((k) => [k, known[k] ?? null]));
}

/** serverStatus: what can be said of one process. */
export function serverStatus(call: Call): Reply {
  const { rss } = process.memoryUsage();
  const uptime = (call.now.getTime() - call.engine.startedAt.getTime()) / 1000;
  return {
    host: call.engine.address,
    version: VERSION.slice(0, 3).join("."),
    process: "callagent-store",
    pid: Long.fromNumber(process.pid),
    uptime: new Double(Math.floor(uptime)),
    uptimeMillis: Long.fromNumber(Math.floor(uptime * 1000)),
    localTime: call.now,
    mem: { bits: 64, resident: Math.round(rss / 1024 / 1024) },
    storageEngine: { name: "sqlite", persistent: true },
    metrics: { cursor: { open: { total: Long.fromNumber(call.engine.cursors.size) } } },
    repl: { setName: SET_NAME, isWritablePrimary: true },
  };
}

/** connectionStatus: nobody logs in here, the store listens on the loopback address only. */
export function connectionStatus(): Reply {
  return { authInfo: { authenticatedUsers: [], authenticatedUserRoles: [] } };
}

/** endSessions, killSessions: closes the sessions' cursors. */
export function endSessions(call: Call): Reply {
  const sessions = call.command["endSessions"] ?? call.command["killSessions"];
  for (const lsid of Array.isArray(sessions) ? sessions : []) {
    const session = isDoc(lsid) ? sessionOf({ lsid }) : undefined;
    if (session !== undefined) call.engine.cursors.endSession(session);
  }
  return {};
}

const FAIL_POINT = new Set(["configureFailPoint", "mode", "data"]);
const FAIL_POINT_DATA = new Set(["failCommands", "errorCode", "closeConnection"]);

/** configureFailPoint failCommand, with errorCode or closeConnection: tests of drivers and of services use it. */
export function configureFailPoint(call: Call): Reply {
  const { command, engine } = call;
  refuseUnknown(command, "configureFailPoint", FAIL_POINT);
  if (command["configureFailPoint"] !== "failCommand")
    throw new StoreError(
      "BadValue",
      `fail point '${String(command["configureFailPoint"])}' is not supported: only failCommand`,
    );
  const { mode } = command;
  if (mode === "off") {
    engine.failures.clear();
    return {};
  }
  const times = mode === "alwaysOn" ? Number.MAX_SAFE_INTEGER : isDoc(mode) ? asNumber(mode["times"]) : undefined;
  const { data } = command;
  const names = isDoc(data) ? data["failCommands"] : undefined;
  if (times === undefined || !isDoc(data) || !Array.isArray(names))
    throw new StoreError(
      "BadValue",
      "failCommand needs a mode ('off', 'alwaysOn' or {times: n}) and data.failCommands",
    );
  refuseUnknown(data, "configureFailPoint.data", FAIL_POINT_DATA, false);
  const failure = { times, errorCode: asNumber(data["errorCode"]), closeConnection: data["closeConnection"] === true };
  // One counter for all the commands named.
  for (const name of names) if (typeof name === "string") engine.failures.set(name, failure);
  return {};
}
