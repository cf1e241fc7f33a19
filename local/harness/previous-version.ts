import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { isRecord, textOf } from "../../shared/json.ts";
import { ROOT } from "../tools/stack/project-root.ts";

const run = promisify(execFile);
const MAX_BYTES = 100_000_000;

/** The tree of the version before this one, with this tree's packages. */
export interface PreviousTree {
  version: string;
  root: string;
  /** Its contracts, as plain JSON Schemas. */
  contracts(): Promise<unknown>;
  remove(): void;
}

function commitOf(): { version: string; commit: string } {
  const file: unknown = JSON.parse(readFileSync(join(ROOT, "deploy", "previous-version.json"), "utf8"));
  return isRecord(file)
    ? { version: textOf(file["version"]), commit: textOf(file["commit"]) }
    : { version: "", commit: "" };
}

/** Takes the tree that deploy/previous-version.json names out of git's history, into a temporary folder. Throws where this is no clone with that commit. */
export async function previousTree(): Promise<PreviousTree> {
  const { version, commit } = commitOf();
  const root = mkdtempSync(join(tmpdir(), "callagent-previous-"));
  try {
    const archive = join(root, "tree.tar");
    await run("git", ["archive", "--format=tar", `--output=${archive}`, commit], { cwd: ROOT });
    await run("tar", ["-xf", archive, "-C", root]);
    rmSync(archive);
    symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  } catch (error) {
    rmSync(root, { recursive: true, force: true });
    throw new Error(
      `Version ${version} can't be taken out of git's history: a clone with the commit ${commit} is needed (git fetch --unshallow).`,
      { cause: error },
    );
  }
  return {
    version,
    root,
    async contracts() {
      const print = `import("./shared/contracts/index.ts").then((m) => process.stdout.write(JSON.stringify(m.contracts)))`;
      const { stdout } = await run(process.execPath, ["-e", print], { cwd: root, maxBuffer: MAX_BYTES });
      return JSON.parse(stdout) as unknown;
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}
