import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { JEST } from "./run-jest.ts";

const LIMIT_MS = 40_000;
/** As shared-context.cjs sets it. */
const COMPUTING_NICE = 3;
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
  began: number;
  over: number;
}

const testFile = (name: string, results: string): string => `
  import { appendFileSync } from "node:fs";
  import { getPriority } from "node:os";
  test("${name}", async () => {
    const began = Date.now();
    await new Promise((resolve) => setTimeout(resolve, 200));
    const ran = { name: "${name}", nice: getPriority(), began, over: Date.now() };
    appendFileSync(${JSON.stringify(results)}, JSON.stringify(ran) + "\\n");
  });`;

test("files that start the product run beside the others, the longest first, and only so many at a time", async () => {
  const folder = mkdtempSync(join(tmpdir(), "callagent-lanes-"));
  try {
    const results = join(folder, "results");
    const names = ["chaos/some-fault", "chaos/several-replicas", "chaos/crash-points", "leads/a", "leads/b", "leads/c"];
    for (const name of names) {
      mkdirSync(join(folder, "test", name, ".."), { recursive: true });
      writeFileSync(join(folder, "test", `${name}.test.mjs`), testFile(name, results));
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
    const ran = readFileSync(results, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Ran)
      .sort((a, b) => a.began - b.began);
    const waiting = ran.filter(({ name }) => name.startsWith("chaos/"));
    expect(waiting.map(({ name }) => name)).toEqual([
      "chaos/crash-points",
      "chaos/several-replicas",
      "chaos/some-fault",
    ]);
    for (const [i, one] of waiting.slice(1).entries()) expect(one.began).toBeGreaterThanOrEqual(waiting[i]!.over);
    const computing = ran.filter(({ name }) => !name.startsWith("chaos/"));
    expect(computing.map(({ name }) => name).sort()).toEqual(["leads/a", "leads/b", "leads/c"]);
    const own = Math.min(...waiting.map(({ nice }) => nice));
    expect(waiting.map(({ nice }) => nice - own)).toEqual([0, 0, 0]);
    expect(computing.map(({ nice }) => nice)).toEqual(computing.map(() => Math.max(own, COMPUTING_NICE)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
