import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JEST, type JestReport } from "./run-jest.ts";

// The runner over a small project of its own.

const LIMIT_MS = 55_000;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "callagent-runner-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** How each test ended, by "file: title"; of a file that broke, by "file" what is said of it. */
async function run(files: Readonly<Record<string, string>>, ...args: string[]): Promise<Record<string, string>> {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `${name}.test.ts`), text);
  const config = {
    rootDir: folder,
    runner: join(import.meta.dirname, "runner.mjs"),
    testMatch: ["<rootDir>/*.test.ts"],
    transform: {},
  };
  const report = join(folder, "report.json");
  const own = ["--json", `--outputFile=${report}`, "--config", JSON.stringify(config)];
  await new Promise((resolve) => {
    execFile(process.execPath, [...JEST, "--maxWorkers=2", ...own, ...args], { timeout: LIMIT_MS }, resolve);
  });
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as JestReport;
  return Object.fromEntries(
    testResults.flatMap(({ name, message, assertionResults }) => {
      const file = name.slice(folder.length + 1).replace(".test.ts", "");
      const tests = assertionResults.map(({ title, status }) => [`${file}: ${title}`, status]);
      return tests.length > 0 ? tests : [[file, message ?? ""]];
    }),
  ) as Record<string, string>;
}

test("whatever goes wrong in a file fails its tests and nobody else's", async () => {
  const ended = await run({
    late: `test("never ends", () => new Promise(() => {}), 50); test("after it", () => {});`,
    unready: `beforeAll(() => { throw new Error("no database"); }); test("needs it", () => {}); test("too", () => {});`,
    unready_late: `beforeAll(() => new Promise(() => {}), 50); test("waits for it", () => {});`,
    rejected: `test("forgets a promise", async () => { Promise.reject(new Error("forgotten")); await new Promise(setImmediate); });`,
    thrown: `test("throws in a timer", () => new Promise((resolve) => { setTimeout(() => { throw new Error("later"); }, 1); setTimeout(resolve, 20); }));`,
    unclean: `afterAll(() => { throw new Error("not stopped"); }); test("itself", () => {});`,
    broken: `import "./not-there.ts"; test("never", () => {});`,
    killed: `test("ends the process", () => { process.kill(process.pid, "SIGKILL"); return new Promise(() => {}); });`,
    left: `process.exit(3);`,
    asserted: `test("asserts too little", () => { expect.assertions(2); expect(1).toBe(1); });`,
    sound: `test.each([1, 2])("%i", (n) => { expect(n).toBeGreaterThan(0); }); test.skip("not now", () => {}); test.todo("some day");`,
  });
  expect(ended).toEqual({
    "late: never ends": "failed",
    "late: after it": "passed",
    "unready: needs it": "failed",
    "unready: too": "failed",
    "unready_late: waits for it": "failed",
    "rejected: forgets a promise": "failed",
    "thrown: throws in a timer": "failed",
    "unclean: itself": "passed",
    broken: expect.stringContaining("not-there.ts"),
    killed: expect.stringContaining("SIGKILL"),
    left: expect.stringContaining("exit code 3"),
    "asserted: asserts too little": "failed",
    "sound: 1": "passed",
    "sound: 2": "passed",
    "sound: not now": "pending",
    "sound: some day": "todo",
  });
});

test("what a file leaves in the environment and in spies is gone when the next one begins", async () => {
  const look = (name: string): string => `
    import { expect, jest, test } from "@jest/globals";
    test("${name}", () => {
      expect([process.env.LEFT, Date.now() > 1]).toEqual([undefined, true]);
      process.env.LEFT = "1";
      delete process.env.PATH;
      jest.spyOn(Date, "now").mockReturnValue(1);
    });`;
  const ended = await run({ a: look("a"), b: look("b") }, "--maxWorkers=1");
  expect(ended).toEqual({ "a: a": "passed", "b: b": "passed" });
});

test("one test is run by its title", async () => {
  expect(await run({ a: `test("this", () => {}); test("that", () => {});` }, "-t", "this")).toEqual({
    "a: this": "passed",
    "a: that": "pending",
  });
});

/** Writes down when its test began and ended, and in which process. */
const noting = (name: string, ms: number): string => `
  import { appendFileSync } from "node:fs";
  test("${name}", async () => {
    const began = Date.now();
    await new Promise((resolve) => setTimeout(resolve, ${ms}));
    appendFileSync(${JSON.stringify(join(folder, "noted"))}, JSON.stringify({ name: "${name}", pid: process.pid, began, over: Date.now() }) + "\\n");
  });`;

interface Noted {
  name: string;
  pid: number;
  began: number;
  over: number;
}

test("a slow file has a process of its own, and one that must be alone runs when all others are done", async () => {
  const names = ["a", "b", "c", "d.slow", "e.slow", "f.alone.slow", "g.alone.slow"];
  await run(Object.fromEntries(names.map((name) => [name, noting(name, 100)])));
  const noted = readFileSync(join(folder, "noted"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Noted);
  expect(noted.map(({ name }) => name).sort()).toEqual(names);
  const processOf = Map.groupBy(noted, ({ pid }) => pid);
  for (const one of noted) if (one.name.includes("slow")) expect(processOf.get(one.pid)).toContain(one);
  const shared = [...processOf.values()].filter((files) => files.length > 1).flat();
  expect(shared.filter(({ name }) => name.includes("slow"))).toHaveLength(0);
  for (const one of noted.filter(({ name }) => name.includes("alone")))
    expect(noted.filter((other) => other !== one && other.began < one.over && one.began < other.over)).toEqual([]);
});
