import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../tools/stack/project-root.ts";

const run = promisify(execFile);

/** The tree of another commit in a temporary folder, with this tree's packages. */
export interface CommitTree {
  root: string;
  remove(): void;
}

/** Takes it out of git's history. Throws where this is no clone with that commit. */
export async function commitTree(commit: string): Promise<CommitTree> {
  const root = mkdtempSync(join(tmpdir(), "callagent-tree-"));
  const remove = (): void => rmSync(root, { recursive: true, force: true });
  try {
    const archive = join(root, "tree.tar");
    await run("git", ["archive", "--format=tar", `--output=${archive}`, commit], { cwd: ROOT });
    await run("tar", ["-xf", archive, "-C", root]);
    rmSync(archive);
    symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
    return { root, remove };
  } catch (error) {
    remove();
    throw new Error(`git has no commit ${commit} here: a clone with it is needed (git fetch --unshallow).`, {
      cause: error,
    });
  }
}
