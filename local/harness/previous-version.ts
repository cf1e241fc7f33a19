import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { isRecord, textOf } from "../../shared/json.ts";
import { ROOT } from "../tools/stack/project-root.ts";
import { commitTree, type CommitTree } from "./commit-tree.ts";

const run = promisify(execFile);
const MAX_BYTES = 100_000_000;

/** The tree of the version before this one, with this tree's packages. */
export interface PreviousTree extends CommitTree {
  version: string;
  /** Its contracts, as plain JSON Schemas. */
  contracts(): Promise<unknown>;
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
  const tree = await commitTree(commit);
  return {
    ...tree,
    version,
    async contracts() {
      const print = `import("./shared/contracts/index.ts").then((m) => process.stdout.write(JSON.stringify(m.contracts)))`;
      const { stdout } = await run(process.execPath, ["-e", print], { cwd: tree.root, maxBuffer: MAX_BYTES });
      return JSON.parse(stdout) as unknown;
    },
  };
}
