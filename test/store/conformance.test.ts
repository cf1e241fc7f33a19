/**
 * The conformance runner itself: small files of the unified format, one sound and the others each wrong in one place,
 * run by the real command. A runner that lets anything pass fails here.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BSON } from "mongodb";
import { fromExtendedJson } from "../../deploy/local/store/conformance/bson-values.ts";
import { readArguments } from "../../deploy/local/store/conformance/command-line.ts";
import { exactDifferences, match, type MatchScope, type Rootness } from "../../deploy/local/store/conformance/matching.ts";
import { compareVersions, parseVersion } from "../../deploy/local/store/conformance/requirements.ts";
import { withUriOptions } from "../../deploy/local/store/conformance/server-under-test.ts";

const RUN_TIMEOUT_MS = 60_000;
const command = join(import.meta.dirname, "../../deploy/local/store/conformance.ts");
let scratch = "";

interface Finished { status: number; lines: string[]; stderr: string }

function conformance(...args: string[]): Promise<Finished> {
  return new Promise(resolve => {
    execFile(process.execPath, [command, ...args], { timeout: RUN_TIMEOUT_MS }, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code ?? 1), lines: stdout.trimEnd().split("\n"), stderr });
    });
  });
}

type Json = Record<string, unknown>;

/** A sound file: every part of the format that the variants below break one by one. */
function soundFile(): Json {
  const database = "conformance-runner-test";
  return {
    description: "sound", schemaVersion: "1.0",
    runOnRequirements: [{ maxServerVersion: "1.0" }, { minServerVersion: "3.6" }],
    createEntities: [
      { client: { id: "client0", observeEvents: ["commandStartedEvent", "commandSucceededEvent"], ignoreCommandMonitoringEvents: ["killCursors"] } },
      { database: { id: "database0", client: "client0", databaseName: database } },
      { collection: { id: "collection0", database: "database0", collectionName: "things" } },
      { session: { id: "session0", client: "client0" } },
    ],
    initialData: [{ databaseName: database, collectionName: "things", documents: [{ _id: 1, x: { y: 11 } }, { _id: 2, big: { $numberLong: "5" } }] }],
    tests: [{
      description: "reads, writes and errs",
      operations: [
        { object: "collection0", name: "find", arguments: { filter: {}, sort: { _id: 1 }, batchSize: 1, session: "session0" }, expectResult: [{ _id: 1, x: { y: 11 } }, { big: { $$lte: 5 } }] },
        { object: "collection0", name: "insertOne", arguments: { document: { _id: 3, tags: ["a", "b"] } }, expectResult: { $$unsetOrMatches: { insertedId: { $$unsetOrMatches: 3 } } } },
        { object: "collection0", name: "insertOne", arguments: { document: { _id: 3 } }, expectError: { isClientError: false, errorCode: 11000, errorContains: "E11000" } },
        { object: "collection0", name: "updateOne", arguments: { filter: { _id: 1 }, update: { plain: 1 } }, expectError: { isClientError: true } },
        { object: "collection0", name: "countDocuments", arguments: { filter: {} }, expectResult: 3, saveResultAsEntity: "total" },
        { object: "collection0", name: "estimatedDocumentCount", expectResult: { $$matchesEntity: "total" } },
      ],
      expectEvents: [{
        client: "client0",
        events: [
          { commandStartedEvent: { commandName: "find", databaseName: database, command: { find: "things", batchSize: 1, lsid: { $$sessionLsid: "session0" }, limit: { $$exists: false } } } },
          { commandSucceededEvent: { commandName: "find", reply: { ok: 1, cursor: { id: { $$type: ["int", "long"] }, ns: { $$exists: true }, firstBatch: { $$type: "array" } } } } },
          { commandStartedEvent: { commandName: "getMore", command: { getMore: { $$type: "long" }, collection: "things" } } },
          { commandSucceededEvent: { commandName: "getMore" } },
        ],
        ignoreExtraEvents: true,
      }],
      outcome: [{ databaseName: database, collectionName: "things", documents: [{ _id: 1, x: { y: 11 } }, { _id: 2, big: { $numberLong: "5" } }, { tags: ["a", "b"], _id: 3 }] }],
    }],
  };
}

const REMOVED = Symbol("removed");
type Edits = Record<string, unknown>;
type Variant = [file: string, status: "passed" | "failed" | "refused", edits: Edits, told: string];

function inside(container: unknown, key: string | undefined): unknown {
  if (typeof container !== "object" || container === null || key === undefined || !Object.hasOwn(container, key)) throw new Error(`the sound file has no ${key}`);
  return Object.entries(container).find(([name]) => name === key)?.[1];
}

/** Sets (or removes, or computes from what is there) the values at dotted paths; "file." paths start at the top, others at the first test. */
function spoiled(edits: Edits): Json {
  const file = soundFile();
  for (const [path, value] of Object.entries(edits)) {
    const keys = path.startsWith("file.") ? path.split(".").slice(1) : ["tests", "0", ...path.split(".")];
    const last = keys.pop() ?? "";
    const target = keys.reduce<unknown>(inside, file);
    if (Array.isArray(target) && value === REMOVED) target.splice(Number(last), 1);
    else if (typeof target === "object" && target !== null) {
      if (value === REMOVED) Reflect.deleteProperty(target, last);
      else Reflect.set(target, last, typeof value === "function" ? value(inside(target, last)) : value);
    }
  }
  return file;
}

const FIND = "operations.0";
const DUPLICATE = "operations.2.expectError";
const EVENTS = "expectEvents.0.events";
const FIRST_COMMAND = `${EVENTS}.0.commandStartedEvent.command`;
const OUTCOME = "outcome.0.documents";
const counting = { object: "collection0", name: "countDocuments", arguments: { filter: {} }, expectResult: 3 };

/** One change each to the sound file, and what the report must then say. */
const VARIANTS: Variant[] = [
  ["result-value", "failed", { [`${FIND}.expectResult.0.x.y`]: 12 }, "at result[0].x.y"],
  ["result-fewer", "failed", { [`${FIND}.expectResult.1`]: REMOVED }, "at result"],
  ["result-nested-extra", "failed", { [`${FIND}.expectResult.0.x`]: {} }, "at result[0].x.y"],
  ["result-field-missing", "failed", { [`${FIND}.expectResult.0.z`]: 1 }, "at result[0].z"],
  ["result-operator", "failed", { [`${FIND}.expectResult.1.big`]: { $$lte: 4 } }, "at result[1].big"],
  ["result-count", "failed", { "operations.4.expectResult": 4 }, "at result"],
  ["result-of-saved-entity", "failed", { "operations.5.expectResult.$$matchesEntity": "session0" }, 'the entity "session0" is a session'],
  ["no-error", "failed", { "operations.1.expectResult": REMOVED, "operations.1.expectError": { isError: true } }, "insertOne should have failed"],
  ["unexpected-error", "failed", { [DUPLICATE]: REMOVED }, "E11000"],
  ["error-code", "failed", { [`${DUPLICATE}.errorCode`]: 1 }, "at errorCode"],
  ["error-code-name", "failed", { [`${DUPLICATE}.errorCodeName`]: "BadValue" }, "at errorCodeName"],
  ["error-text", "failed", { [`${DUPLICATE}.errorContains`]: "no such text" }, "at errorContains"],
  ["error-label", "failed", { [`${DUPLICATE}.errorLabelsContain`]: ["RetryableWriteError"] }, "at errorLabelsContain"],
  ["error-of-client", "failed", { [`${DUPLICATE}.isClientError`]: true }, "at isClientError"],
  ["error-of-server", "failed", { "operations.3.expectError.isClientError": false }, "at isClientError"],
  ["event-content", "failed", { [`${FIRST_COMMAND}.batchSize`]: 2 }, "at events[0].command.batchSize"],
  ["event-session", "failed", { [`${FIND}.arguments.session`]: REMOVED }, "at events[0].command.lsid"],
  ["event-unexpected-field", "failed", { [`${FIRST_COMMAND}.batchSize`]: { $$exists: false } }, "at events[0].command.batchSize"],
  ["event-type", "failed", { [`${EVENTS}.2.commandStartedEvent.command.getMore`]: { $$type: "string" } }, "at events[2].command.getMore"],
  ["event-database", "failed", { [`${EVENTS}.0.commandStartedEvent.databaseName`]: "other" }, "at events[0].databaseName"],
  ["event-reply", "failed", { [`${EVENTS}.1.commandSucceededEvent.reply.ok`]: 0 }, "at events[1].reply.ok"],
  ["event-order", "failed", { [EVENTS]: (events: unknown[]) => events.toReversed() }, "at events[0]"],
  ["event-extra", "failed", { "expectEvents.0.ignoreExtraEvents": false }, "no further event"],
  ["event-none", "failed", { [EVENTS]: [], "expectEvents.0.ignoreExtraEvents": false }, "at events[0]"],
  ["event-missing", "failed", { operations: (all: unknown[]) => all.slice(0, 1), [`${EVENTS}.4`]: { commandStartedEvent: {} } }, "at events[4]"],
  ["outcome-value", "failed", { [`${OUTCOME}.0.x.y`]: 12 }, "at documents[0].x.y"],
  ["outcome-type", "failed", { [`${OUTCOME}.1.big`]: { $numberDouble: "5" } }, "at documents[1].big"],
  ["outcome-fewer", "failed", { [`${OUTCOME}.2`]: REMOVED }, "at documents[2]"],
  ["outcome-more", "failed", { [`${OUTCOME}.3`]: { _id: 9 } }, "at documents[3]"],
  ["outcome-no-leniency", "failed", { [`${OUTCOME}.0.x`]: REMOVED }, "at documents[0].x"],
  ["data-is-reset", "failed", { "file.tests.1": { description: "sees what the test before wrote", operations: [counting] } }, "sees what the test before wrote"],
  ["unknown-operation", "failed", { [`${FIND}.name`]: "findSome" }, 'unknown operation "findSome"'],
  ["unknown-runner-operation", "failed", { [FIND]: { object: "testRunner", name: "assertAllIsWell" } }, 'unknown operation "assertAllIsWell"'],
  ["unknown-argument", "failed", { [`${FIND}.arguments.patience`]: 1 }, "unknown key patience"],
  ["unknown-argument-in-error", "failed", { "operations.3.arguments.patience": 1 }, "unknown key patience"],
  ["unknown-key", "failed", { expectNothing: [] }, "unknown key expectNothing"],
  ["unknown-file-key", "failed", { "file.expectNothing": [] }, "unknown key expectNothing"],
  ["unknown-event-key", "failed", { [`${EVENTS}.0.commandStartedEvent.mood`]: 1 }, "unknown key mood"],
  ["unknown-operator", "failed", { "operations.4.expectResult": { $$roughly: 3 } }, "unknown matching operator $$roughly"],
  ["unknown-error-key", "failed", { [DUPLICATE]: { isSurprising: true } }, "unknown key isSurprising"],
  ["unknown-entity", "failed", { [`${FIND}.object`]: "collection7" }, 'no entity named "collection7"'],
  ["unknown-requirement", "failed", { runOnRequirements: [{ moonPhase: "full" }] }, "unknown key moonPhase"],
  ["schema-too-new", "failed", { "file.schemaVersion": "2.0" }, "schemaVersion 2.0"],
  ["no-tests", "failed", { "file.tests": [] }, "has no tests"],
  ["refused-feature", "refused", { [FIND]: { object: "testRunner", name: "failPoint", arguments: {} } }, "fail points"],
  ["refused-transaction", "refused", { [FIND]: { object: "session0", name: "startTransaction" } }, "transactions"],
  ["refused-client-bulk", "refused", { [FIND]: { object: "client0", name: "clientBulkWrite", arguments: {} } }, "client-level bulkWrite"],
  ["refused-file-version", "refused", { "file.runOnRequirements": [{ minServerVersion: "999.0" }] }, "needs server 999.0 or later"],
  ["refused-test-topology", "refused", { runOnRequirements: [{ topologies: ["load-balanced"] }] }, "is for load-balanced"],
  ["refused-skipped", "refused", { skipReason: "known to be odd" }, "the file says: known to be odd"],
  ["sound-twice", "passed", { "file.tests": (tests: unknown[]) => [...tests, ...structuredClone(tests)] }, "2 tests"],
];

/** The lines of one file in the report: its own and those below it. */
function linesOf(lines: readonly string[], file: string): string[] {
  const start = lines.findIndex(line => line.includes(` ${file}.json — `));
  const end = lines.findIndex((line, index) => index > start && !line.startsWith(" "));
  return start < 0 ? [] : lines.slice(start, end < 0 ? undefined : end);
}

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "callagent-runner-test-"));
});

afterAll(async () => {
  await rm(scratch, { recursive: true, force: true });
});

describe("the command", () => {
  test("passes a sound file and exits 0", async () => {
    const folder = join(scratch, "sound");
    await mkdir(folder);
    await writeFile(join(folder, "sound.json"), JSON.stringify(soundFile()));
    const { status, lines, stderr } = await conformance(folder);
    expect(stderr).toBe("");
    expect(linesOf(lines, "sound")).toEqual(["passed  sound.json — 1 test"]);
    expect(lines.slice(-2)).toEqual(["tests: 1 passed, 0 failed, 0 refused", "1 passed, 0 failed, 0 refused"]);
    expect(status).toBe(0);
  }, RUN_TIMEOUT_MS);

  test("tells each spoiled file by its cause, counts and exits 1", async () => {
    const folder = join(scratch, "spoiled");
    await mkdir(folder);
    for (const [file, , edits] of VARIANTS) await writeFile(join(folder, `${file}.json`), JSON.stringify(spoiled(edits)));
    await writeFile(join(folder, "not-json.json"), "{");
    await writeFile(join(folder, "not-unified.json"), "[1]");
    const { status, lines, stderr } = await conformance(folder);
    expect(stderr).toBe("");
    const seen = VARIANTS.map(([file, , , told]) => {
      const found = linesOf(lines, file);
      return [file, found[0]?.split(" ")[0], found.some(line => line.includes(told)) ? told : found.join("\n")];
    });
    expect(seen).toEqual(VARIANTS.map(([file, expected, , told]) => [file, expected, told]));
    expect(linesOf(lines, "not-json")[0]).toMatch(/^failed .*cannot be read as JSON/);
    expect(linesOf(lines, "not-unified")[0]).toMatch(/^failed .*no file of the unified test format/);
    const count = (status: string): number => VARIANTS.filter(([, expected]) => expected === status).length;
    expect(lines.at(-1)).toBe(`${count("passed")} passed, ${count("failed") + 2} failed, ${count("refused")} refused`);
    expect(status).toBe(1);
  }, RUN_TIMEOUT_MS);

  test("says what is wrong with the folder or the server and exits 1", async () => {
    const empty = join(scratch, "empty");
    await mkdir(empty);
    const missing = await conformance(join(scratch, "nowhere"));
    expect([missing.status, missing.stderr]).toEqual([1, expect.stringMatching(/nowhere cannot be read/)]);
    const nothing = await conformance(empty);
    expect([nothing.status, nothing.stderr]).toEqual([1, expect.stringMatching(/holds no \*\.json file/)]);
    const none = await conformance();
    expect([none.status, none.stderr]).toEqual([1, expect.stringMatching(/^usage:/)]);
  }, RUN_TIMEOUT_MS);
});

describe("matching", () => {
  const scope: MatchScope = { valueEntity: () => ({ a: 1 }), sessionId: () => ({ id: "s" }) };
  const { Long, Double, Decimal128, Int32, ObjectId } = BSON;
  const id = new ObjectId();
  const cases: [name: string, expected: unknown, actual: unknown, rootness: Rootness, places: string[]][] = [
    ["equal numbers of any width", [1, 2, 3], [new Long(1), new Double(2), new Int32(3)], "nested", []],
    ["64 bits compare exactly", new Long("9007199254740993"), new Long("9007199254740992"), "nested", ["v"]],
    ["a decimal is no flexible number", 1, Decimal128.fromString("1"), "nested", ["v"]],
    ["number against text", 1, "1", "nested", ["v"]],
    ["null against absent", { a: null }, {}, "nested", ["v.a"]],
    ["false against 0", false, 0, "nested", ["v"]],
    ["key order", { a: 1, b: 2 }, { b: 2, a: 1 }, "nested", []],
    ["extra field at the root", { a: 1 }, { a: 1, b: 2 }, "root", []],
    ["extra field inside", { a: { b: 1 } }, { a: { b: 1, c: 1 } }, "root", ["v.a.c"]],
    ["extra field in an iterated document", [{ a: 1 }], [{ a: 1, b: 1 }], "roots", []],
    ["extra field in a listed value", [{ a: 1 }], [{ a: 1, b: 1 }], "root", ["v[0].b"]],
    ["array order", [1, 2], [2, 1], "nested", ["v[0]", "v[1]"]],
    ["array is no document", {}, [], "root", ["v"]],
    ["dates", new Date(5), new Date(6), "nested", ["v"]],
    ["object ids", id, new ObjectId(id.toHexString()), "nested", []],
    ["$$exists true and null", { a: { $$exists: true } }, { a: null }, "nested", []],
    ["$$exists false and null", { a: { $$exists: false } }, { a: null }, "nested", ["v.a"]],
    ["$$unsetOrMatches on null", { a: { $$unsetOrMatches: 1 } }, { a: null }, "nested", ["v.a"]],
    ["$$unsetOrMatches keeps the root", { $$unsetOrMatches: { a: 1 } }, { a: 1, b: 1 }, "root", []],
    ["$$type wants a value", { a: { $$type: "null" } }, {}, "nested", ["v.a"]],
    ["$$type of a promoted number", { $$type: ["int", "long"] }, 1.5, "nested", ["v"]],
    ["$$matchesEntity", { $$matchesEntity: "e" }, { a: 2 }, "nested", ["v.a"]],
    ["$$sessionLsid", { $$sessionLsid: "s" }, { id: "t" }, "nested", ["v"]],
    ["$$matchesHexBytes", { $$matchesHexBytes: "6162" }, "ab", "nested", []],
    ["$$matchesHexBytes differing", { $$matchesHexBytes: "6163" }, "ab", "nested", ["v"]],
    ["$$matchAsDocument", { $$matchAsDocument: { a: 1 } }, '{"a":1,"b":1}', "nested", ["v.b"]],
    ["$$matchAsDocument as root", { $$matchAsDocument: { $$matchAsRoot: { a: 1 } } }, '{"a":1,"b":1}', "nested", []],
    ["two dollars in a value", { a: "$$ROOT" }, { a: "$$ROOT" }, "nested", []],
  ];

  test.each(cases)("%s", (_name, expected, actual, rootness, places) => {
    expect(match(expected, actual, scope, "v", rootness).map(mismatch => mismatch.place)).toEqual(places);
  });

  test("contents are compared without operators and without leniency", () => {
    expect(exactDifferences({ a: { $$exists: true } }, { a: 1 }, "d")).toHaveLength(1);
    expect(exactDifferences([{ a: 1 }], [{ a: 1, b: 1 }], "d").map(one => one.place)).toEqual(["d[0].b"]);
    expect(exactDifferences({ a: null }, {}, "d")).toHaveLength(1);
    expect(exactDifferences(fromExtendedJson({ a: { $numberInt: "1" } }), { a: new Long(1) }, "d")).toHaveLength(1);
    expect(exactDifferences({ b: 1, a: [1] }, { a: [new Int32(1)], b: new Double(1) }, "d")).toEqual([]);
  });
});

test("Extended JSON wrappers become BSON values, query operators stay documents", () => {
  const parsed = fromExtendedJson({ l: { $numberLong: "9007199254740993" }, d: { $date: { $numberLong: "5" } }, q: { $regex: "a" }, n: 1.5, t: { $type: "int" } });
  expect(BSON.EJSON.stringify(parsed, { relaxed: false })).toBe('{"l":{"$numberLong":"9007199254740993"},"d":{"$date":{"$numberLong":"5"}},"q":{"$regex":"a"},"n":{"$numberDouble":"1.5"},"t":{"$type":"int"}}');
});

test("versions compare by number, without what follows the third part", () => {
  const order = (left: string, right: string): number => Math.sign(compareVersions(parseVersion(left), parseVersion(right)));
  expect([order("4.0.10", "4.0.9"), order("8", "8.0.0"), order("4.9.0-alpha4-271-g7d5cf02", "4.9"), order("3.6", "4.2.0"), order("10.0", "9.9.9")]).toEqual([1, 0, 0, -1, 1]);
  expect(() => parseVersion("four")).toThrow(/not a version/);
});

test("URI options override those of the address, whatever their case", () => {
  expect(withUriOptions("mongodb://a:1,b:2/?RetryReads=true&serverSelectionTimeoutMS=9", { retryReads: "false" })).toBe("mongodb://a:1,b:2/?serverSelectionTimeoutMS=9&retryReads=false");
});

test("the arguments name one folder and a MongoDB address", () => {
  expect(readArguments(["x"], {})).toEqual({ folder: "x", uri: undefined });
  expect(readArguments(["x"], { MONGODB_URI: "mongodb://e" })).toEqual({ folder: "x", uri: "mongodb://e" });
  expect(readArguments(["x", "--uri", "mongodb://u"], { MONGODB_URI: "mongodb://e" })).toEqual({ folder: "x", uri: "mongodb://u" });
  expect(readArguments(["x", "--uri", "http://u"], {})).toMatch(/must begin with mongodb/);
  expect(readArguments(["x", "--port", "1"], {})).toMatch(/--port/);
});
