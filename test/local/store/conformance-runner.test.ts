/**
 * The conformance runner itself: small files of the unified format, one sound and the others each wrong in one place,
 * run by the real command. A runner that lets anything pass fails here.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const RUN_TIMEOUT_MS = 60_000;
const command = join(import.meta.dirname, "../../../local/store/conformance.ts");
const embedded = (process.env["MONGODB_URI"] ?? "") === "";
let scratch = "";

interface Finished {
  status: number;
  lines: string[];
  stderr: string;
}

function conformance(...args: string[]): Promise<Finished> {
  return new Promise((resolve) => {
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
    description: "sound",
    schemaVersion: "1.0",
    runOnRequirements: [{ maxServerVersion: "1.0" }, { minServerVersion: "3.6" }],
    createEntities: [
      {
        client: {
          id: "client0",
          observeEvents: ["commandStartedEvent", "commandSucceededEvent"],
          ignoreCommandMonitoringEvents: ["killCursors"],
        },
      },
      { database: { id: "database0", client: "client0", databaseName: database } },
      { collection: { id: "collection0", database: "database0", collectionName: "things" } },
      { session: { id: "session0", client: "client0" } },
    ],
    initialData: [
      {
        databaseName: database,
        collectionName: "things",
        documents: [
          { _id: 1, x: { y: 11 } },
          { _id: 2, big: { $numberLong: "5" } },
        ],
      },
    ],
    tests: [
      {
        description: "reads, writes and errs",
        operations: [
          {
            object: "collection0",
            name: "find",
            arguments: { filter: {}, sort: { _id: 1 }, batchSize: 1, session: "session0" },
            expectResult: [{ _id: 1, x: { y: 11 } }, { big: { $$lte: 5 } }],
          },
          {
            object: "collection0",
            name: "insertOne",
            arguments: { document: { _id: 3, tags: ["a", "b"] } },
            expectResult: { $$unsetOrMatches: { insertedId: { $$unsetOrMatches: 3 } } },
          },
          {
            object: "collection0",
            name: "insertOne",
            arguments: { document: { _id: 3 } },
            expectError: { isClientError: false, errorCode: 11000, errorContains: "E11000" },
          },
          {
            object: "collection0",
            name: "updateOne",
            arguments: { filter: { _id: 1 }, update: { plain: 1 } },
            expectError: { isClientError: true },
          },
          {
            object: "collection0",
            name: "countDocuments",
            arguments: { filter: {} },
            expectResult: 3,
            saveResultAsEntity: "total",
          },
          { object: "collection0", name: "estimatedDocumentCount", expectResult: { $$matchesEntity: "total" } },
        ],
        expectEvents: [
          {
            client: "client0",
            events: [
              {
                commandStartedEvent: {
                  commandName: "find",
                  databaseName: database,
                  command: {
                    find: "things",
                    batchSize: 1,
                    lsid: { $$sessionLsid: "session0" },
                    limit: { $$exists: false },
                  },
                },
              },
              {
                commandSucceededEvent: {
                  commandName: "find",
                  reply: {
                    ok: 1,
                    cursor: {
                      id: { $$type: ["int", "long"] },
                      ns: { $$exists: true },
                      firstBatch: { $$type: "array" },
                    },
                  },
                },
              },
              {
                commandStartedEvent: {
                  commandName: "getMore",
                  command: { getMore: { $$type: "long" }, collection: "things" },
                },
              },
              { commandSucceededEvent: { commandName: "getMore" } },
            ],
            ignoreExtraEvents: true,
          },
        ],
        outcome: [
          {
            databaseName: database,
            collectionName: "things",
            documents: [
              { _id: 1, x: { y: 11 } },
              { _id: 2, big: { $numberLong: "5" } },
              { tags: ["a", "b"], _id: 3 },
            ],
          },
        ],
      },
    ],
  };
}

/** A second sound file: the operations beyond reading and writing documents. */
function wideFile(): Json {
  const base = soundFile();
  const names = { databaseName: "conformance-runner-test", collectionName: "things" };
  const operations = [
    {
      object: "collection0",
      name: "createFindCursor",
      arguments: { filter: {}, sort: { _id: 1 }, batchSize: 1 },
      saveResultAsEntity: "cursor0",
    },
    { object: "cursor0", name: "iterateUntilDocumentOrError", expectResult: { _id: 1 } },
    { object: "cursor0", name: "iterateOnce", expectResult: { _id: 2 } },
    { object: "cursor0", name: "close" },
    {
      object: "testRunner",
      name: "createEntities",
      arguments: {
        entities: [
          {
            collection: {
              id: "collection1",
              database: "database0",
              collectionName: "things",
              collectionOptions: { writeConcern: { w: "majority" }, readPreference: { mode: "primary" } },
            },
          },
        ],
      },
    },
    {
      object: "collection1",
      name: "createIndex",
      arguments: { keys: { "x.y": 1 }, name: "by_y", unique: true, sparse: true },
      expectResult: "by_y",
    },
    { object: "testRunner", name: "assertIndexExists", arguments: { ...names, indexName: "by_y" } },
    {
      object: "collection1",
      name: "listIndexes",
      expectResult: [{ name: "_id_" }, { name: "by_y", key: { "x.y": 1 }, unique: true, sparse: true }],
    },
    {
      object: "collection1",
      name: "bulkWrite",
      arguments: {
        requests: [{ insertOne: { document: { _id: 4, x: { y: 11 } } } }, { deleteOne: { filter: { _id: 1 } } }],
      },
      expectError: {
        errorCodeName: "DuplicateKey",
        expectResult: {
          insertedCount: 0,
          deletedCount: 0,
          matchedCount: 0,
          modifiedCount: 0,
          upsertedCount: 0,
          upsertedIds: {},
        },
      },
    },
    { object: "collection1", name: "insertOne", arguments: { document: { _id: 1 } }, ignoreResultAndError: true },
    {
      object: "collection1",
      name: "findOneAndUpdate",
      arguments: { filter: { _id: 1 }, update: { $inc: { "x.y": 1 } }, returnDocument: "After" },
      expectResult: { _id: 1, x: { y: 12 } },
    },
    { object: "collection1", name: "distinct", arguments: { fieldName: "_id", filter: {} }, expectResult: [1, 2] },
    { object: "collection1", name: "dropIndex", arguments: { name: "by_y" } },
    { object: "testRunner", name: "assertIndexNotExists", arguments: { ...names, indexName: "by_y" } },
    {
      object: "database0",
      name: "runCommand",
      arguments: { commandName: "count", command: { count: "things", query: { _id: 2 } } },
      expectResult: { n: 1, ok: 1 },
    },
    {
      object: "testRunner",
      name: "assertEventCount",
      arguments: { client: "client0", event: { commandStartedEvent: { commandName: "getMore" } }, count: 1 },
    },
    clientBulk(77, { expectResult: { insertedCount: 1, deletedCount: 0, insertResults: { 0: { insertedId: 77 } } } }),
    clientBulk(77, {
      expectError: {
        isClientError: false,
        writeErrors: { 0: { code: 11000 } },
        writeConcernErrors: [],
        expectResult: { $$unsetOrMatches: { insertedCount: 0 } },
      },
    }),
    { object: "database0", name: "dropCollection", arguments: { collection: "things" } },
    { object: "testRunner", name: "assertCollectionNotExists", arguments: names },
    { object: "session0", name: "endSession" },
  ];
  return { ...base, tests: [{ description: "goes all round", operations, outcome: [{ ...names, documents: [] }] }] };
}

/** A staged failure, which only the embedded store (or a mongod with test commands) offers: hit once, then switched off. */
function failPointFile(): Json {
  const failPoint = {
    configureFailPoint: "failCommand",
    mode: "alwaysOn",
    data: { failCommands: ["count"], errorCode: 8 },
  };
  const operations = [
    { object: "testRunner", name: "failPoint", arguments: { client: "client0", failPoint } },
    { object: "collection0", name: "estimatedDocumentCount", expectError: { errorCode: 8 } },
  ];
  const afterwards = [{ object: "collection0", name: "estimatedDocumentCount", expectResult: 2 }];
  return {
    ...soundFile(),
    tests: [
      { description: "fails", operations },
      { description: "no longer fails", operations: afterwards },
    ],
  };
}

const REMOVED = Symbol("removed");
type Edits = Record<string, unknown>;
type Variant = [file: string, status: "passed" | "failed" | "refused", edits: Edits, told: string];

function inside(container: unknown, key: string | undefined): unknown {
  if (typeof container !== "object" || container === null || key === undefined || !Object.hasOwn(container, key))
    throw new Error(`the sound file has no ${key}`);
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

/** A client-level bulkWrite that inserts one document with the given _id. */
function clientBulk(
  id: number,
  expectation: Json = { expectResult: { insertedCount: 1, insertResults: { 0: { insertedId: 99 } } } },
): Json {
  const models = [{ insertOne: { namespace: "conformance-runner-test.things", document: { _id: id } } }];
  return { object: "client0", name: "clientBulkWrite", arguments: { models, verboseResults: true }, ...expectation };
}

/** One change each to the sound file, and what the report must then say. */
const VARIANTS: Variant[] = [
  ["result-value", "failed", { [`${FIND}.expectResult.0.x.y`]: 12 }, "at result[0].x.y"],
  ["result-fewer", "failed", { [`${FIND}.expectResult.1`]: REMOVED }, "at result"],
  ["result-nested-extra", "failed", { [`${FIND}.expectResult.0.x`]: {} }, "at result[0].x.y"],
  ["result-field-missing", "failed", { [`${FIND}.expectResult.0.z`]: 1 }, "at result[0].z"],
  ["result-operator", "failed", { [`${FIND}.expectResult.1.big`]: { $$lte: 4 } }, "at result[1].big"],
  ["result-count", "failed", { "operations.4.expectResult": 4 }, "at result"],
  [
    "result-of-saved-entity",
    "failed",
    { "operations.5.expectResult.$$matchesEntity": "session0" },
    'the entity "session0" is a session',
  ],
  [
    "no-error",
    "failed",
    { "operations.1.expectResult": REMOVED, "operations.1.expectError": { isError: true } },
    "insertOne should have failed",
  ],
  ["unexpected-error", "failed", { [DUPLICATE]: REMOVED }, "E11000"],
  ["error-code", "failed", { [`${DUPLICATE}.errorCode`]: 1 }, "at errorCode"],
  ["error-code-name", "failed", { [`${DUPLICATE}.errorCodeName`]: "BadValue" }, "at errorCodeName"],
  ["error-text", "failed", { [`${DUPLICATE}.errorContains`]: "no such text" }, "at errorContains"],
  ["error-label", "failed", { [`${DUPLICATE}.errorLabelsContain`]: ["RetryableWriteError"] }, "at errorLabelsContain"],
  ["error-of-client", "failed", { [`${DUPLICATE}.isClientError`]: true }, "at isClientError"],
  ["error-of-server", "failed", { "operations.3.expectError.isClientError": false }, "at isClientError"],
  ["event-content", "failed", { [`${FIRST_COMMAND}.batchSize`]: 2 }, "at events[0].command.batchSize"],
  ["event-session", "failed", { [`${FIND}.arguments.session`]: REMOVED }, "at events[0].command.lsid"],
  [
    "event-unexpected-field",
    "failed",
    { [`${FIRST_COMMAND}.batchSize`]: { $$exists: false } },
    "at events[0].command.batchSize",
  ],
  [
    "event-type",
    "failed",
    { [`${EVENTS}.2.commandStartedEvent.command.getMore`]: { $$type: "string" } },
    "at events[2].command.getMore",
  ],
  [
    "event-database",
    "failed",
    { [`${EVENTS}.0.commandStartedEvent.databaseName`]: "other" },
    "at events[0].databaseName",
  ],
  ["event-reply", "failed", { [`${EVENTS}.1.commandSucceededEvent.reply.ok`]: 0 }, "at events[1].reply.ok"],
  ["event-order", "failed", { [EVENTS]: (events: unknown[]) => events.toReversed() }, "at events[0]"],
  ["event-extra", "failed", { "expectEvents.0.ignoreExtraEvents": false }, "no further event"],
  ["event-none", "failed", { [EVENTS]: [], "expectEvents.0.ignoreExtraEvents": false }, "at events[0]"],
  [
    "event-missing",
    "failed",
    { operations: (all: unknown[]) => all.slice(0, 1), [`${EVENTS}.4`]: { commandStartedEvent: {} } },
    "at events[4]",
  ],
  ["outcome-value", "failed", { [`${OUTCOME}.0.x.y`]: 12 }, "at documents[0].x.y"],
  ["outcome-type", "failed", { [`${OUTCOME}.1.big`]: { $numberDouble: "5" } }, "at documents[1].big"],
  ["outcome-fewer", "failed", { [`${OUTCOME}.2`]: REMOVED }, "at documents[2]"],
  ["outcome-more", "failed", { [`${OUTCOME}.3`]: { _id: 9 } }, "at documents[3]"],
  ["outcome-no-leniency", "failed", { [`${OUTCOME}.0.x`]: REMOVED }, "at documents[0].x"],
  [
    "data-is-reset",
    "failed",
    { "file.tests.1": { description: "sees what the test before wrote", operations: [counting] } },
    "sees what the test before wrote",
  ],
  ["unknown-operation", "failed", { [`${FIND}.name`]: "findSome" }, 'unknown operation "findSome"'],
  [
    "unknown-runner-operation",
    "failed",
    { [FIND]: { object: "testRunner", name: "assertAllIsWell" } },
    'unknown operation "assertAllIsWell"',
  ],
  ["unknown-argument", "failed", { [`${FIND}.arguments.patience`]: 1 }, "unknown key patience"],
  ["unknown-argument-in-error", "failed", { "operations.3.arguments.patience": 1 }, "unknown key patience"],
  [
    "unknown-request",
    "failed",
    {
      "operations.1": {
        object: "collection0",
        name: "bulkWrite",
        arguments: { requests: [{ upsertOne: {} }] },
        ignoreResultAndError: true,
      },
    },
    'unknown bulkWrite request "upsertOne"',
  ],
  ["unknown-key", "failed", { expectNothing: [] }, "unknown key expectNothing"],
  ["unknown-file-key", "failed", { "file.expectNothing": [] }, "unknown key expectNothing"],
  ["unknown-event-key", "failed", { [`${EVENTS}.0.commandStartedEvent.mood`]: 1 }, "unknown key mood"],
  [
    "unknown-operator",
    "failed",
    { "operations.4.expectResult": { $$roughly: 3 } },
    "unknown matching operator $$roughly",
  ],
  ["unknown-error-key", "failed", { [DUPLICATE]: { isSurprising: true } }, "unknown key isSurprising"],
  ["unknown-entity", "failed", { [`${FIND}.object`]: "collection7" }, 'no entity named "collection7"'],
  ["unknown-requirement", "failed", { runOnRequirements: [{ moonPhase: "full" }] }, "unknown key moonPhase"],
  ["schema-too-new", "failed", { "file.schemaVersion": "2.0" }, "schemaVersion 2.0"],
  ["no-tests", "failed", { "file.tests": [] }, "has no tests"],
  ["refused-transaction", "refused", { [FIND]: { object: "session0", name: "startTransaction" } }, "transactions"],
  [
    "refused-change-stream",
    "refused",
    { [FIND]: { object: "collection0", name: "createChangeStream", arguments: {} } },
    "change streams",
  ],
  ["refused-null-id", "refused", { "operations.1.arguments.document._id": null }, "the driver puts an ObjectId"],
  [
    "refused-entity",
    "refused",
    { "file.createEntities.4": { bucket: { id: "bucket0", database: "database0" } } },
    "GridFS",
  ],
  ["refused-log-messages", "refused", { expectLogMessages: [] }, "log messages"],
  ["client-bulk-result", "failed", { [FIND]: clientBulk(77) }, "at result.insertResults.0.insertedId"],
  [
    "client-bulk-error",
    "failed",
    { [FIND]: clientBulk(1, { expectError: { writeErrors: { 1: { code: 11000 } } } }) },
    "at writeErrors.0",
  ],
  [
    "refused-file-version",
    "refused",
    { "file.runOnRequirements": [{ minServerVersion: "999.0" }] },
    "needs server 999.0 or later",
  ],
  [
    "refused-test-topology",
    "refused",
    { runOnRequirements: [{ topologies: ["load-balanced"] }] },
    "is for load-balanced",
  ],
  ["refused-skipped", "refused", { skipReason: "known to be odd" }, "the file says: known to be odd"],
  ["sound-twice", "passed", { "file.tests": (tests: unknown[]) => [...tests, ...structuredClone(tests)] }, "2 tests"],
];

/** The lines of one file in the report: its own and those below it. */
function linesOf(lines: readonly string[], file: string): string[] {
  const start = lines.findIndex((line) => line.includes(` ${file}.json — `));
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
  test(
    "passes sound files and exits 0",
    async () => {
      const folder = join(scratch, "sound");
      await mkdir(folder);
      await writeFile(join(folder, "sound.json"), JSON.stringify(soundFile()));
      await writeFile(join(folder, "wide.json"), JSON.stringify(wideFile()));
      if (embedded) await writeFile(join(folder, "fail-point.json"), JSON.stringify(failPointFile()));
      const { status, lines, stderr } = await conformance(folder);
      expect(stderr).toBe("");
      expect(linesOf(lines, "fail-point")).toEqual(embedded ? ["passed  fail-point.json — 2 tests"] : []);
      expect(linesOf(lines, "sound")).toEqual(["passed  sound.json — 1 test"]);
      expect(linesOf(lines, "wide")).toEqual(["passed  wide.json — 1 test"]);
      expect(lines.slice(-2)).toEqual([
        `tests: ${embedded ? 4 : 2} passed, 0 failed, 0 refused`,
        `${embedded ? 3 : 2} passed, 0 failed, 0 refused`,
      ]);
      expect(status).toBe(0);
    },
    RUN_TIMEOUT_MS,
  );

  test(
    "tells each spoiled file by its cause, counts and exits 1",
    async () => {
      const folder = join(scratch, "spoiled");
      await mkdir(folder);
      for (const [file, , edits] of VARIANTS)
        await writeFile(join(folder, `${file}.json`), JSON.stringify(spoiled(edits)));
      await writeFile(join(folder, "not-json.json"), "{");
      await writeFile(join(folder, "not-unified.json"), "[1]");
      const { status, lines, stderr } = await conformance(folder);
      expect(stderr).toBe("");
      const seen = VARIANTS.map(([file, , , told]) => {
        const found = linesOf(lines, file);
        return [file, found[0]?.split(" ")[0], found.some((line) => line.includes(told)) ? told : found.join("\n")];
      });
      expect(seen).toEqual(VARIANTS.map(([file, expected, , told]) => [file, expected, told]));
      expect(linesOf(lines, "not-json")[0]).toMatch(/^failed .*cannot be read as JSON/);
      expect(linesOf(lines, "not-unified")[0]).toMatch(/^failed .*no file of the unified test format/);
      const count = (status: string): number => VARIANTS.filter(([, expected]) => expected === status).length;
      expect(lines.at(-1)).toBe(
        `${count("passed")} passed, ${count("failed") + 2} failed, ${count("refused")} refused`,
      );
      expect(status).toBe(1);
    },
    RUN_TIMEOUT_MS,
  );

  test(
    "says what is wrong with the folder or the server and exits 1",
    async () => {
      const empty = join(scratch, "empty");
      await mkdir(empty);
      const missing = await conformance(join(scratch, "nowhere"));
      expect([missing.status, missing.stderr]).toEqual([1, expect.stringMatching(/nowhere cannot be read/)]);
      const nothing = await conformance(empty);
      expect([nothing.status, nothing.stderr]).toEqual([1, expect.stringMatching(/holds no \*\.json file/)]);
      const none = await conformance();
      expect([none.status, none.stderr]).toEqual([1, expect.stringMatching(/^usage:/)]);
    },
    RUN_TIMEOUT_MS,
  );
});
