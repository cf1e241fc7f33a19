import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { runCommand } from "../../shared/process/command-line.ts";
import { SUPPLY_CHECK } from "../commands.ts";
import { faultsOfImages, IMAGE_FILES } from "./images.ts";
import { faultsOfPackages, type Lockfile, type Manifest } from "./lockfile.ts";
import { secretsIn } from "./secrets.ts";

/**
 * `npm run supply:check`, a part of `npm test`: what comes in with an installation is what was looked at, and no secret lies in the tree.
 * Names each fault in a line; exit status 1 when there is one.
 */
const read = (path: string): string => readFileSync(path, "utf8");
const LIST_BYTES = 16 * 1024 * 1024;

await runCommand(SUPPLY_CHECK, async () => {
  // git's own list of the tree, with those that are not added yet
  const tree = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"], {
    encoding: "utf8",
    maxBuffer: LIST_BYTES,
  })
    .split("\0")
    .filter((path) => path !== "" && path !== "package-lock.json");
  const deleted = new Set(execFileSync("git", ["ls-files", "-z", "--deleted"], { encoding: "utf8" }).split("\0"));
  const root = resolve(".");

  const faults = [
    ...faultsOfPackages(
      JSON.parse(read("package-lock.json")) as Lockfile,
      JSON.parse(read("package.json")) as Manifest,
    ),
    ...IMAGE_FILES.flatMap((path) => faultsOfImages(path, read(path))),
    ...(await secretsIn(tree.filter((path) => !deleted.has(path)).map((path) => resolve(path)))).map((line) =>
      line.replace(`${root}/`, ""),
    ),
  ];
  for (const line of faults) process.stderr.write(`${line}\n`);
  if (faults.length > 0) return 1;
  process.stdout.write(`packages, images and ${tree.length} files: nothing to say\n`);
  return 0;
});
