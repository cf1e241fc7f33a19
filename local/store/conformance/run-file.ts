/** Running one test file: may it run here, what is refused, what passes. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { type Doc, isDocument } from "./expectations/bson-values.ts";
import { RunnerError } from "./runner-errors.ts";
import { refusalOf } from "./expectations/unsupported-features.ts";
import { compareVersions, parseVersion, unmetRequirements } from "./requirements.ts";
import { type Failure, runTest, ServerGone } from "./run-test.ts";
import type { ServerUnderTest } from "./server-under-test.ts";
import { documentsAt, onlyKeys, stringAt } from "./field-readers.ts";

/** What became of one test. */
export type TestVerdict =
  | { description: string; status: "passed" }
  | { description: string; status: "refused"; reason: string }
  | { description: string; status: "failed"; failure: Failure };

/** What became of one file: failed if any of its tests did, refused if none could run, else passed. */
export interface FileVerdict {
  file: string;
  status: "passed" | "failed" | "refused";
  reason: string | undefined;
  tests: TestVerdict[];
}

const FILE_KEYS = [
  "description",
  "schemaVersion",
  "runOnRequirements",
  "createEntities",
  "initialData",
  "tests",
  "_yamlAnchors",
];
const TEST_KEYS = [
  "description",
  "runOnRequirements",
  "skipReason",
  "operations",
  "expectEvents",
  "expectLogMessages",
  "outcome",
];
/** The newest minor version of the format that this runner knows; every 1.x up to it is upward compatible. */
const NEWEST_SCHEMA = "1.23";

async function readTestFile(path: string): Promise<Doc> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    throw new RunnerError(`cannot be read as JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isDocument(parsed) || !("schemaVersion" in parsed) || !("tests" in parsed))
    throw new RunnerError("is no file of the unified test format (it has no schemaVersion and tests)");
  const version = parseVersion(stringAt("schemaVersion", parsed["schemaVersion"]));
  const newest = parseVersion(NEWEST_SCHEMA);
  if (version[0] !== newest[0] || compareVersions(version, newest) > 0)
    throw new RunnerError(`schemaVersion ${String(parsed["schemaVersion"])} is not one of 1.0 to ${NEWEST_SCHEMA}`);
  onlyKeys("the file", parsed, FILE_KEYS);
  return parsed;
}

async function checkTest(file: Doc, test: Doc, server: ServerUnderTest): Promise<TestVerdict> {
  const description = stringAt("description", test["description"]);
  try {
    onlyKeys(`test "${description}"`, test, TEST_KEYS);
    const skip =
      test["skipReason"] === undefined ? undefined : `the file says: ${stringAt("skipReason", test["skipReason"])}`;
    const reason =
      skip ?? (await unmetRequirements(test["runOnRequirements"], server)) ?? refusalOf(file, test, server.embedded);
    if (reason !== undefined) return { description, status: "refused", reason };
    const failure = await runTest(file, test, server);
    return failure === undefined ? { description, status: "passed" } : { description, status: "failed", failure };
  } catch (error) {
    if (error instanceof RunnerError)
      return { description, status: "failed", failure: { reason: error.message, mismatches: [] } };
    throw error;
  }
}

function sumUp(file: string, tests: TestVerdict[]): FileVerdict {
  if (tests.some((test) => test.status === "failed")) return { file, status: "failed", reason: undefined, tests };
  if (tests.some((test) => test.status === "passed")) return { file, status: "passed", reason: undefined, tests };
  return { file, status: "refused", reason: "no test of it can run here", tests };
}

/** Runs one file. Throws ServerGone when the server no longer answers; everything else is a verdict. */
export async function runFile(path: string, server: ServerUnderTest): Promise<FileVerdict> {
  const name = basename(path);
  try {
    const file = await readTestFile(path);
    const rawTests = documentsAt("tests", file["tests"]);
    if (rawTests.length === 0) throw new RunnerError("has no tests");
    const unmet = await unmetRequirements(file["runOnRequirements"], server);
    if (unmet !== undefined) {
      const tests = rawTests.map((test): TestVerdict => ({
        description: String(test["description"]),
        status: "refused",
        reason: unmet,
      }));
      return { file: name, status: "refused", reason: unmet, tests };
    }
    const tests: TestVerdict[] = [];
    for (const test of rawTests) tests.push(await checkTest(file, test, server));
    return sumUp(name, tests);
  } catch (error) {
    if (error instanceof ServerGone || !(error instanceof RunnerError)) throw error;
    return { file: name, status: "failed", reason: error.message, tests: [] };
  }
}
