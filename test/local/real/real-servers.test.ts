import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { cacheFolder, lockFolder } from "../../../local/real/cache-folder.ts";
import { mustDownload, mustRun, program } from "../../../local/real/machine.ts";
import { PartError, type Part } from "../../../local/real/part.ts";
import { missingFor, PARTS } from "../../../local/real/parts.ts";
import { ROOT } from "../../../local/tools/stack/project-root.ts";
import { readCommand } from "../../../shared/process/command-line.ts";
import { askedOf, testReal } from "../../real/arguments.ts";
import { readScenes } from "../../real/browser-step.ts";
import { readDemo } from "../../real/demo-step.ts";
import { readRun } from "../../real/jest-step.ts";
import { readSpeech } from "../../real/speech-step.ts";
import { LEFT_OUT, skippedLines, sumOf } from "../../real/outcome.ts";
import { STEPS } from "../../real/steps.ts";

const folder = mkdtempSync(join(tmpdir(), "callagent-real-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const part = (over: Partial<Part>): Part => ({
  name: "made-up",
  about: "a server",
  cost: "1 MB",
  needs: [],
  isInstalled: () => true,
  install: () => Promise.resolve(),
  start: () => Promise.reject(new PartError("it does not start")),
  ...over,
});

describe("the command's arguments", () => {
  const parts = [part({ name: "a" }), part({ name: "b" })];
  const read = (argv: string[]) => askedOf(readCommand(testReal(parts), argv)!, parts);
  test("all parts and all steps unless told otherwise; parts by name; another folder", () => {
    expect(read([])).toEqual({ parts, short: false, able: false, dir: undefined, does: "test" });
    expect(read(["--short", "b", "--dir", "x"])).toEqual({
      parts: [parts[1]],
      short: true,
      able: false,
      dir: "x",
      does: "test",
    });
    expect(read(["--short", "--able"])).toMatchObject({ short: true, able: true, parts });
    expect(read(["a", "--step", "kills", "--leads", "10000"])).toMatchObject({ step: "kills", leads: 10_000 });
    expect(read(["--needs"])).toMatchObject({ does: "needs" });
    expect(read(["--serve", "a"])).toMatchObject({ does: "serve", parts: [parts[0]] });
  });
  test.each([
    ["an unknown part", "nonsense", "There is no part nonsense; there is "],
    ["an unknown flag", "--nonsense", "There is no option --nonsense."],
  ])("the command says what there is when it is given %s", async (_what, argument, said) => {
    const done = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
      execFile(process.execPath, [join(ROOT, "test/real/main.ts"), argument], (error, _stdout, stderr) =>
        resolve({ code: error?.code, stderr }),
      );
    });
    expect(done).toEqual({ code: 2, stderr: expect.stringContaining(said) });
  });
});

describe("a part", () => {
  test("has steps, and says what it is; servers have short ones", () => {
    for (const { name, about, cost } of PARTS) {
      expect([name, about, cost].map((said) => said.length > 0)).toEqual([true, true, true]);
      // speech is slow to recognise, and the programs of kubernetes, nats-cli, opentelemetry and s3 are slow to build: they are left out of short runs
      expect(STEPS[name]?.some((step) => step.isShort)).toBe(
        !["speech", "kubernetes", "nats-cli", "opentelemetry", "s3"].includes(name),
      );
      expect(STEPS[name]?.length).toBeGreaterThan(0);
    }
    expect(Object.keys(STEPS).sort()).toEqual(PARTS.map((p) => p.name).sort());
  });
  test("names everything that the machine misses, and how to get it", () => {
    const needs = [program("node", "https://nodejs.org"), program("no-such-program", "from nowhere")];
    expect(missingFor(part({ needs }))).toEqual(["no-such-program (from nowhere)"]);
  });
  test("a program that fails is told with its purpose and the end of its log", async () => {
    const log = join(folder, "logs", "failed.log");
    const failing = mustRun("sh", ["-c", "echo not within reach; exit 7"], {
      purpose: "It could not be had",
      log,
      limitMs: 10_000,
    });
    await expect(failing).rejects.toThrow(
      `It could not be had: sh ended with status 7. The end of ${log}:\nnot within reach`,
    );
  });
  test("a download that fails is tried again, three times in all", async () => {
    const work = (name: string) => ({
      purpose: "It could not be had",
      log: join(folder, "logs", `${name}.log`),
      limitMs: 10_000,
    });
    const until = (tries: number, name: string): string =>
      `n=$(cat ${name} 2>/dev/null || echo 0); n=$((n + 1)); echo $n > ${name}; test $n -ge ${tries}`;
    await mustDownload("sh", ["-c", until(3, "third")], work("third"));
    expect(readFileSync(join(folder, "logs", "third"), "utf8").trim()).toBe("3");
    await expect(mustDownload("sh", ["-c", until(4, "fourth")], work("fourth"))).rejects.toThrow("ended with status 1");
    expect(readFileSync(join(folder, "logs", "fourth"), "utf8").trim()).toBe("3");
  });
});

describe("the folder", () => {
  test("is the one given, else the variable's, else in the user's cache", () => {
    expect(cacheFolder("/x", { CALLAGENT_REAL_DIR: "/y" })).toBe("/x");
    expect(cacheFolder(undefined, { CALLAGENT_REAL_DIR: "/y", XDG_CACHE_HOME: "/z" })).toBe("/y");
    expect(cacheFolder(undefined, { XDG_CACHE_HOME: "/z" })).toBe("/z/callagent-real");
    expect(cacheFolder(undefined, {})).toBe(join(homedir(), ".cache/callagent-real"));
  });
  test("has one user at a time; one whose process is gone has it no more", () => {
    lockFolder(folder)();
    writeFileSync(join(folder, "run.pid"), String(process.ppid));
    expect(() => lockFolder(folder)).toThrow(`Process ${process.ppid} uses the real servers in ${folder}`);
    writeFileSync(join(folder, "run.pid"), "4194304999");
    lockFolder(folder)();
  });
});

describe("what a run says", () => {
  const test_ = (status: string, ...titles: string[]) => ({
    status,
    title: titles.at(-1) ?? "",
    ancestorTitles: titles.slice(0, -1),
  });
  const run = (status: number, ...tests: ReturnType<typeof test_>[]) => ({
    status,
    report: {
      numPassedTests: tests.filter((t) => t.status === "passed").length,
      numFailedTests: tests.filter((t) => t.status === "failed").length,
      numPendingTests: tests.filter((t) => t.status === "pending").length,
      numRuntimeErrorTestSuites: 0,
      testResults: [{ name: join(ROOT, "test/a.test.ts"), status: "passed", assertionResults: tests }],
    },
  });

  test("a test that is left out is told by name with its reason", () => {
    const outcome = readRun(run(0, test_("passed", "x"), test_("pending", "lists", `${LEFT_OUT}no plans`, "by index")));
    expect(outcome).toEqual({
      passed: 1,
      failed: 0,
      skipped: [{ name: "test/a.test.ts > lists > by index", reason: `${LEFT_OUT}no plans` }],
      said: "",
    });
    expect(skippedLines(outcome.skipped)).toEqual([
      `skipped, 1 tests: ${LEFT_OUT}no plans`,
      "  test/a.test.ts > lists > by index",
    ]);
  });
  test("a test that is skipped without a reason has failed, and so has a run without a report", () => {
    expect(readRun(run(0, test_("pending", "lists", "by index")))).toMatchObject({
      failed: 1,
      skipped: [],
      said: "test/a.test.ts > lists > by index (skipped without a reason)",
    });
    expect(readRun({ status: 0, report: null })).toMatchObject({ passed: 0, failed: 1 });
    expect(readRun(run(1, test_("failed", "y")))).toMatchObject({ failed: 1, said: "test/a.test.ts > y" });
  });
  test.each([
    ["40 of 40 leads ended as expected; 40 webhooks received and verified, 0 refused; 6.3 s", 0, 40, 0],
    ["37 of 40 leads ended as expected; 37 webhooks received and verified, 0 refused; 60.0 s", 1, 37, 3],
    ["40 of 40 leads ended as expected; 40 webhooks received and verified, 1 refused; 6.3 s", 1, 40, 1],
    ["The service did not become ready within 60 s", 2, 0, 1],
  ])("a demo that says %j has %i as status: %i passed, %i failed", (line, status, passed, failed) => {
    expect(readDemo(`starting\n${line}\n`, status)).toMatchObject({ passed, failed });
  });
  test.each([
    ["| clean | 24/24 |  met\n| quiet | 23/24 |\n\n0 asked for and missed; load 1", 0, 1, 0],
    ["| clean | 24/24 |  met\n| white-5 | 0/24 |  MISSED\n\n1 asked for and missed; load 1", 1, 1, 1],
    ["| clean | 24/24 |  met\nError: no flite", 1, 1, 1],
    ["", 0, 0, 1],
  ])("a table of the speech bench %j with status %d: %d passed, %d failed", (said, status, passed, failed) => {
    expect(readSpeech(said, status)).toMatchObject({ passed, failed });
  });
  test.each([
    ["closed 9.1 s  by customer | as it should\n1 of 1 scenes ended as they should", 0, 1, 0],
    ["Firefox: held   0.0 s  left out: apt-get x | as it should\n1 of 1 scenes ended as they should", 0, 0, 0],
    ["a 9.1 s | as it should\nb 60.0 s  waited | FAILED\n1 of 2 scenes ended as they should", 1, 1, 1],
    ["a 9.1 s | as it should\nError: no chromium", 1, 1, 1],
  ])("scenes in a browser %j with status %d: %d passed, %d failed", (said, status, passed, failed) => {
    expect(readScenes(said, status)).toMatchObject({ passed, failed });
  });
  test("outcomes add up", () => {
    const one = { passed: 2, failed: 1, skipped: [{ name: "a", reason: "b" }], said: "c" };
    expect(sumOf([one, one])).toMatchObject({ passed: 4, failed: 2, skipped: [...one.skipped, ...one.skipped] });
  });
});
