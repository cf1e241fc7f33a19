import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../tools/stack/project-root.ts";
import { mustDownload, mustRun, program } from "../machine.ts";
import type { Part } from "../part.ts";

/** The official Go library has no newer version. */
const GO_MODULE = "github.com/standard-webhooks/standard-webhooks/libraries@v0.0.1";
const REQUIREMENTS = join(ROOT, "local", "real", "receivers", "requirements.txt");
const READY = "receivers.ready";
const INSTALL_MS = 300_000;

/** What the step is given: Python with the official library, and the folder of a Go module that requires the official library. */
export const RECEIVER_VARIABLES = { python: "RECEIVERS_PYTHON", go: "RECEIVERS_GO" } as const;

const pythonOf = (folder: string): string => join(folder, "python");
const goOf = (folder: string): string => join(folder, "go");
/** What an installation is of: another one is not it. */
const wanted = (): string => `${GO_MODULE}\n${readFileSync(REQUIREMENTS, "utf8")}`;

async function install(folder: string): Promise<void> {
  const log = join(folder, "logs", "install.log");
  const work = (purpose: string) => ({ purpose, log, limitMs: INSTALL_MS });
  rmSync(pythonOf(folder), { recursive: true, force: true });
  rmSync(goOf(folder), { recursive: true, force: true });
  await mustRun("python3", ["-m", "venv", pythonOf(folder)], work("Python could not be given a folder of its own"));
  const pinned = ["install", "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", REQUIREMENTS];
  const unreached = (where: string): string => `standardwebhooks could not be installed (is ${where} within reach?)`;
  await mustRun(join(pythonOf(folder), "bin", "pip"), pinned, work(unreached("pypi.org")));
  mkdirSync(goOf(folder));
  writeFileSync(join(goOf(folder), "go.mod"), "module receivers\n\ngo 1.21\n");
  await mustDownload("go", ["-C", goOf(folder), "get", GO_MODULE], work(unreached("proxy.golang.org")));
  writeFileSync(join(folder, READY), wanted());
}

/** Receivers of webhooks in other languages than ours, with the official libraries that verify what we sign. */
export const receivers: Part = {
  name: "receivers",
  about: "the official libraries of Standard Webhooks for Python and Go",
  cost: "20 MB and ten seconds, from pypi.org and proxy.golang.org",
  needs: [
    program("python3", "3.9 or later, with venv: apt-get install python3-venv"),
    program("go", "1.21 or later: https://go.dev/dl"),
  ],
  isInstalled: (folder) => existsSync(join(folder, READY)) && readFileSync(join(folder, READY), "utf8") === wanted(),
  install,
  start: (folder) =>
    Promise.resolve({
      env: {
        [RECEIVER_VARIABLES.python]: join(pythonOf(folder), "bin", "python"),
        [RECEIVER_VARIABLES.go]: goOf(folder),
      },
      versions: wanted()
        .split("\n")
        .map((line) => line.split(" ")[0])
        .join(" ")
        .trim(),
      stop: () => Promise.resolve(),
    }),
};
