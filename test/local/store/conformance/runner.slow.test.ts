/**
 * The conformance runner itself: small files of the unified format, one sound and the others each wrong in one place,
 * run by the real command. A runner that lets anything pass fails here.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { soundFile, wideFile, failPointFile, spoiled } from "../fixtures/conformance-files.ts";
import { VARIANTS } from "../fixtures/conformance-variants.ts";

const RUN_TIMEOUT_MS = 60_000;
const command = join(import.meta.dirname, "../../../../local/store/conformance.ts");
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
    "says what is wrong with the folder and exits 2",
    async () => {
      const empty = join(scratch, "empty");
      await mkdir(empty);
      const missing = await conformance(join(scratch, "nowhere"));
      expect([missing.status, missing.stderr]).toEqual([2, expect.stringMatching(/nowhere cannot be read/)]);
      const nothing = await conformance(empty);
      expect([nothing.status, nothing.stderr]).toEqual([2, expect.stringMatching(/holds no \*\.json file/)]);
      const none = await conformance();
      expect([none.status, none.stderr]).toEqual([2, expect.stringMatching(/^<folder> is missing/)]);
    },
    RUN_TIMEOUT_MS,
  );
});
