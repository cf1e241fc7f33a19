/** Running every test file of a folder against one server. */
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { UsageError } from "../../../shared/process/command-line.ts";
import { closingLines, fileLines } from "./report.ts";
import { type FileVerdict, runFile } from "./run-file.ts";
import { ServerGone } from "./run-test.ts";
import type { ServerUnderTest } from "./server-under-test.ts";

/** The paths of the *.json files directly in a folder, by name. Throws UsageError. */
export async function testFilesIn(folder: string): Promise<string[]> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    throw new UsageError(
      `the folder ${folder} cannot be read (${error instanceof Error ? error.message : String(error)}): name a folder that holds unified-format *.json files`,
      { cause: error },
    );
  }
  const files = names.filter((name) => name.endsWith(".json")).sort();
  if (files.length === 0)
    throw new UsageError(`the folder ${folder} holds no *.json file: name a folder of unified-format test files`);
  return files.map((name) => join(folder, name));
}

/**
 * Runs the files one after the other, printing each verdict as it is known and the counts last. True if none failed.
 * When the server stops answering, the file at hand counts as failed and the rest is left.
 */
export async function runFiles(
  files: readonly string[],
  server: ServerUnderTest,
  print: (line: string) => void,
): Promise<boolean> {
  const verdicts: FileVerdict[] = [];
  for (const file of files) {
    try {
      verdicts.push(await runFile(file, server));
    } catch (error) {
      if (!(error instanceof ServerGone)) throw error;
      print(
        `failed  ${basename(file)} — ${error.message}; ${files.length - verdicts.length - 1} further files were not run`,
      );
      print(closingLines([...verdicts, { file, status: "failed", reason: error.message, tests: [] }]).join("\n"));
      return false;
    }
    const last = verdicts.at(-1);
    if (last !== undefined) for (const line of fileLines(last)) print(line);
  }
  for (const line of closingLines(verdicts)) print(line);
  return verdicts.every((verdict) => verdict.status !== "failed");
}
