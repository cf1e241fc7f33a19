import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { jestExpect } from "@jest/expect";
import { createEmptyTestResult, type AssertionResult, type TestResult } from "@jest/test-result";
import type { Circus, Config } from "@jest/types";
import * as circus from "jest-circus";
import { formatExecError, formatResultsErrors } from "jest-message-util";
import { ModuleMocker } from "jest-mock";

/** A worker of the runner (runner.mjs): runs test files that the runner names, one after the other, on jest-circus, in this process and with its modules. */

/** What the runner sends: one file. */
interface Asked {
  path: string;
  config: Config.ProjectConfig;
  globalConfig: Config.GlobalConfig;
}

const mocker = new ModuleMocker(globalThis);
const { afterAll, afterEach, beforeAll, beforeEach, describe, it, test } = circus;
const globals = {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  it,
  test,
  expect: jestExpect,
  jest: {
    fn: mocker.fn.bind(mocker),
    spyOn: mocker.spyOn.bind(mocker),
    restoreAllMocks: () => mocker.restoreAllMocks(),
  },
};
Object.assign(globalThis, globals);

/** `@jest/globals` throws outside of jest's own runtime; here it is what the globals are. */
const GLOBALS_URL = `data:text/javascript,export const { ${Object.keys(globals).join(", ")} } = globalThis;`;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "@jest/globals" ? { url: GLOBALS_URL, shortCircuit: true } : next(specifier, context),
});

/** What nobody caught fails the test that runs, or its file. */
const takeError = (error: unknown): void => {
  const { currentlyRunningTest, unhandledErrors } = circus.getState();
  const errors = currentlyRunningTest?.errors ?? unhandledErrors;
  errors.push(error instanceof Error ? error : new Error(`Nobody caught: ${String(error)}`));
};
process.on("uncaughtException", takeError);
process.on("unhandledRejection", takeError);

const endsOf = (result: Circus.TestResult): AssertionResult["status"] => {
  if (result.status === "skip") return "pending";
  if (result.status === "todo") return "todo";
  return result.errors.length > 0 ? "failed" : "passed";
};

/** A test's result as jest's reporters read it. */
function assertionOf(result: Circus.TestResult): AssertionResult {
  const [, ...titles] = result.testPath.map(String);
  return {
    ancestorTitles: titles.slice(0, -1),
    duration: result.duration ?? null,
    ...(result.failing === undefined ? {} : { failing: result.failing }),
    failureDetails: result.errorsDetailed,
    failureMessages: result.errors,
    fullName: titles.join(" "),
    invocations: result.invocations,
    location: result.location ?? null,
    numPassingAsserts: result.numPassingAsserts,
    retryReasons: result.retryReasons,
    startAt: result.startedAt ?? null,
    status: endsOf(result),
    title: titles.at(-1) ?? "",
  };
}

circus.addEventHandler((event) => {
  if (event.name === "test_start") {
    const titles: string[] = [];
    for (let at: Circus.TestEntry | Circus.DescribeBlock | undefined = event.test; at?.parent; at = at.parent)
      titles.unshift(String(at.name));
    jestExpect.setState({ currentTestName: titles.join(" ") });
  }
  if (event.name === "test_done") {
    event.test.errors.push(...jestExpect.extractExpectedAssertionsErrors().map(({ error }) => error));
    event.test.numPassingAsserts = jestExpect.getState().numPassingAsserts;
  }
});

async function run({ path, config, globalConfig }: Asked): Promise<TestResult> {
  const environment = { ...process.env };
  const start = Date.now();
  circus.resetState();
  const state = circus.getState();
  state.includeTestLocationInResult = config.testLocationInResults;
  if (globalConfig.testTimeout !== undefined) state.testTimeout = globalConfig.testTimeout;
  if (globalConfig.testNamePattern) state.testNamePattern = new RegExp(globalConfig.testNamePattern, "i");
  jestExpect.setState({ expand: globalConfig.expand ?? false, testPath: path });
  try {
    await import(pathToFileURL(path).href);
    const { testResults, unhandledErrors, unhandledErrorsDetailed } = await circus.run();
    const results = testResults.map(assertionOf);
    const count = (status: AssertionResult["status"]): number => results.filter((r) => r.status === status).length;
    const failure = [
      formatResultsErrors(results, config, globalConfig, path),
      ...unhandledErrorsDetailed.map((error) => formatExecError(error, config, globalConfig, path)),
    ].filter((text) => text !== null);
    const empty = createEmptyTestResult();
    const end = Date.now();
    return {
      ...empty,
      failureMessage: failure.length === 0 ? null : failure.join("\n\n"),
      numFailingTests: count("failed"),
      numPassingTests: count("passed"),
      numPendingTests: count("pending"),
      numTodoTests: count("todo"),
      perfStats: { ...empty.perfStats, start, end, runtime: end - start },
      skipped: false,
      ...(unhandledErrors.length === 0 ? {} : { testExecError: { message: "", stack: unhandledErrors.join("\n") } }),
      testFilePath: path,
      testResults: results,
    };
  } finally {
    mocker.restoreAllMocks();
    for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
    Object.assign(process.env, environment);
  }
}

const send = (message: unknown): void => void process.send?.(message);

process.on("message", (asked: Asked) => {
  run(asked).then(
    (result) => send({ result, memory: process.memoryUsage.rss() }),
    (error: unknown) => {
      const { message, stack } = error instanceof Error ? error : new Error(String(error));
      send({ error: { message, stack, code: undefined, type: "Error" } });
    },
  );
});
process.on("disconnect", () => process.exit());
