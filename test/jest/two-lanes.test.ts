import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { JEST } from "./run-jest.ts";

const LIMIT_MS = 55_000;
/** As shared-context.cjs sets it. */
const COMPUTING_NICE = 3;
/** A test file that should have company waits for it so long. */
const MEET_MS = 20_000;
const FOLDER = join(import.meta.dirname, "..");
const { lanesOf, WAITING } = createRequire(import.meta.url)("./two-lanes.cjs") as {
  lanesOf(workers: number): { computing: number; waiting: number };
  WAITING: string[];
};

test.each([
  [1, 0, 1],
  [2, 1, 1],
  [3, 1, 2],
  [6, 3, 3],
])("%i workers: %i files that compute, and %i that wait", (workers, computing, waiting) => {
  expect(lanesOf(workers)).toEqual({ computing, waiting });
});

test("every entry of the waiting lane is there, and none is named twice", () => {
  const missing = WAITING.filter(
    (entry) => !existsSync(join(FOLDER, entry.endsWith("/") ? entry : `${entry}.test.ts`)),
  );
  expect([missing, new Set(WAITING).size]).toEqual([[], WAITING.length]);
});

/** What a test file writes down: its lane by its process's priority, and when it ran. */
interface Ran {
  name: string;
  nice: number;
  pid: number;
  began: number;
  over: number;
}

/** Waits for the test files of these names to have begun, too; they can only where they run at the same time. */
const testFile = (name: string, results: string, beside: readonly string[]): string => `
  import { appendFileSync, existsSync, writeFileSync } from "node:fs";
  import { getPriority } from "node:os";
  const began = (name) => ${JSON.stringify(results)} + "-" + name.replace("/", "-");
  const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  test("${name}", async () => {
    const ran = { name: "${name}", nice: getPriority(), pid: process.pid, began: Date.now() };
    writeFileSync(began("${name}"), "");
    const until = Date.now() + ${MEET_MS};
    while (!${JSON.stringify(beside)}.every((other) => existsSync(began(other)))) {
      if (Date.now() > until) throw new Error("alone");
      await rest(20);
    }
    await rest(200);
    appendFileSync(${JSON.stringify(results)}, JSON.stringify({ ...ran, over: Date.now() }) + "\\n");
  });`;

/** Runs such test files in two processes: what they wrote down, by when they began. `beside`: whom each of them waits for. */
async function run(files: Readonly<Record<string, readonly string[]>>): Promise<Ran[]> {
  const folder = mkdtempSync(join(tmpdir(), "callagent-lanes-"));
  try {
    const results = join(folder, "results");
    for (const [name, beside] of Object.entries(files)) {
      mkdirSync(join(folder, "test", name, ".."), { recursive: true });
      writeFileSync(join(folder, "test", `${name}.test.mjs`), testFile(name, results, beside));
    }
    const config = {
      rootDir: folder,
      runner: join(import.meta.dirname, "two-lanes.cjs"),
      runtime: join(import.meta.dirname, "shared-libraries.cjs"),
      testEnvironment: join(import.meta.dirname, "shared-context.cjs"),
      testMatch: ["<rootDir>/test/**/*.test.mjs"],
      transform: {},
    };
    const args = [...JEST, "--maxWorkers=2", "--config", JSON.stringify(config)];
    await promisify(execFile)(process.execPath, args, { timeout: LIMIT_MS });
    return readFileSync(results, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Ran)
      .sort((a, b) => a.began - b.began);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
const named = (ran: readonly Ran[]) => ran.map(({ name }) => name);

test("files that start the product run beside the others, the longest first, only so many at a time, and more when nothing is left to compute", async () => {
  const last = ["e2e/one", "e2e/other"];
  const names = ["chaos/some-fault", "chaos/several-replicas", "chaos/crash-points", "leads/a", "leads/b", "leads/c"];
  // the last two wait for each other
  const ran = await run(Object.fromEntries([...names, ...last].map((name) => [name, last.includes(name) ? last : []])));
  const computing = ran.filter(({ name }) => name.startsWith("leads/"));
  const computed = Math.max(...computing.map(({ over }) => over));
  const inLanes = ran.filter(({ name }) => !name.startsWith("leads/"));
  const waiting = inLanes.filter(({ name }) => name.startsWith("chaos/"));
  expect(named(waiting)).toEqual(["chaos/crash-points", "chaos/several-replicas", "chaos/some-fault"]);
  for (const [i, one] of inLanes.slice(1).entries())
    expect(one.began).toBeGreaterThanOrEqual(Math.min(inLanes[i]!.over, computed));
  expect(named(inLanes)).toEqual(expect.arrayContaining(last));
  expect(named(computing).sort()).toEqual(["leads/a", "leads/b", "leads/c"]);
  const own = Math.min(...waiting.map(({ nice }) => nice));
  expect(waiting.map(({ nice }) => nice - own)).toEqual([0, 0, 0]);
  expect(computing.map(({ nice }) => nice)).toEqual(computing.map(() => Math.max(own, COMPUTING_NICE)));
});

test("a lane with nothing of its own takes a share of what computes", async () => {
  const ran = await run(Object.fromEntries(Array.from("abcdefgh", (letter) => [`leads/${letter}`, []])));
  expect(ran).toHaveLength(8);
  expect(new Set(ran.map(({ pid }) => pid)).size).toBe(2);
});
