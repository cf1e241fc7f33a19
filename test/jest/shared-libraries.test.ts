import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { JEST } from "./run-jest.ts";

// A worker of jest over a small project of its own: two libraries, one module, and test files that write down what they find.

const LIMIT_MS = 40_000;
const FILES = ["a", "b", "c"];

/** What a test file found, before it left something of everything behind. */
interface Found {
  cjs: string;
  esm: string;
  own: string;
  required: string;
  /** Whether an array of a library is an Array here, and an error an Error. */
  classes: [boolean, boolean];
  /** What a library loads at its first use, which is after the first file. */
  later: string | null;
  left: unknown;
  env: string | null;
  heard: number;
  matchers: boolean;
  clock: boolean;
}

const LIBRARIES: Record<string, string> = {
  "cjs/index.js": `exports.id = String(Math.random()); exports.list = () => []; exports.fail = () => { throw new Error("x"); };
    exports.later = () => require("./later.js"); global.ofLibrary = exports.id;`,
  "cjs/later.js": `module.exports = "later";`,
  "esm/package.json": `{ "type": "module", "main": "index.js" }`,
  "esm/index.js": `import { id as cjs } from "cjs"; export const id = String(Math.random()); export const uses = cjs;`,
};

const testFile = (name: string, results: string): string => `
  import { jest } from "@jest/globals";
  import { appendFileSync, existsSync } from "node:fs";
  import { createRequire } from "node:module";
  import * as cjs from "cjs";
  import { id as esm, uses } from "esm";
  import { id as own } from "./own.mjs";
  import "moleculer";
  test("${name}", async () => {
    let thrown;
    try { cjs.fail(); } catch (error) { thrown = error; }
    const found = {
      cjs: cjs.id, esm: esm, own, required: createRequire(import.meta.url)("cjs").id,
      classes: [cjs.list() instanceof Array, thrown instanceof Error],
      later: existsSync(${JSON.stringify(results)}) ? cjs.later() : null,
      left: globalThis.left ?? null, env: process.env.LEFT ?? null,
      heard: globalThis.bus.listeners("left").length,
      matchers: typeof expect(1).toBeLeft === "function",
      clock: Date.now() > 1,
    };
    expect([uses, globalThis.ofLibrary]).toEqual([cjs.id, cjs.id]);
    appendFileSync(${JSON.stringify(results)}, JSON.stringify(found) + "\\n");
    globalThis.left = 1;
    process.env.LEFT = "1";
    globalThis.bus.on("left", () => undefined);
    expect.extend({ toBeLeft: () => ({ pass: true, message: () => "" }) });
    jest.spyOn(Date, "now").mockReturnValue(1);
  });`;

let folder: string;
let found: Found[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "callagent-libraries-"));
  const results = join(folder, "results");
  for (const [path, text] of Object.entries(LIBRARIES)) {
    mkdirSync(join(folder, "node_modules", path, ".."), { recursive: true });
    writeFileSync(join(folder, "node_modules", path), text);
  }
  symlinkSync(
    join(import.meta.dirname, "..", "..", "node_modules", "moleculer"),
    join(folder, "node_modules", "moleculer"),
  );
  writeFileSync(join(folder, "own.mjs"), "export const id = String(Math.random());");
  for (const name of FILES) writeFileSync(join(folder, `${name}.test.mjs`), testFile(name, results));
  const config = {
    rootDir: folder,
    haste: { enableSymlinks: false },
    runtime: join(import.meta.dirname, "shared-libraries.cjs"),
    testEnvironment: join(import.meta.dirname, "shared-context.cjs"),
    testMatch: ["<rootDir>/*.test.mjs"],
    transform: {},
  };
  const args = [...JEST, "--runInBand", "--silent", "--config", JSON.stringify(config)];
  await promisify(execFile)(process.execPath, args, { timeout: LIMIT_MS });
  found = readFileSync(results, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Found);
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const valuesOf = (field: keyof Found): number => new Set(found.map((one) => one[field])).size;

test("a library is loaded once for all test files of a worker, however it is asked for", () => {
  expect(found).toHaveLength(FILES.length);
  expect([valuesOf("cjs"), valuesOf("esm"), valuesOf("required")]).toEqual([1, 1, 1]);
  expect(found.every((one) => one.cjs === one.required)).toBe(true);
});
test("the project's own modules are loaded anew by each test file", () => {
  expect(valuesOf("own")).toBe(FILES.length);
});
test("a library's arrays and errors are those of the test files", () => {
  expect(found.map((one) => one.classes)).toEqual(FILES.map(() => [true, true]));
});
test("a library that loads more of itself later can do so after the file that loaded it has ended", () => {
  expect(found.map((one) => one.later).filter((later) => later !== null)).toEqual(["later", "later"]);
});
test("globals, variables, listeners of the bus, matchers and mocks of one file are not there in the next", () => {
  for (const { left, env, heard, matchers, clock } of found)
    expect({ left, env, heard, matchers, clock }).toEqual({
      left: null,
      env: null,
      heard: 0,
      matchers: false,
      clock: true,
    });
});
