import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAM_ENV } from "../../harness/program.ts";
import { ROOT } from "../../tools/stack/project-root.ts";
import { mustRun, program } from "../machine.ts";
import type { Part } from "../part.ts";

const OURS = join(ROOT, "local", "real", "asyncapi");
const LOCK = "package-lock.json";
const INSTALL_MS = 180_000;

/** Names the folder in which the parser is installed. */
export const PARSER_FOLDER = "ASYNCAPI_PARSER";

const read = (file: string): string | null => (existsSync(file) ? readFileSync(file, "utf8") : null);

async function install(folder: string): Promise<void> {
  const home = join(folder, "parser");
  mkdirSync(home, { recursive: true });
  for (const file of ["package.json", LOCK]) cpSync(join(OURS, file), join(home, file));
  await mustRun("npm", ["ci", "--prefix", home, "--ignore-scripts", "--no-audit", "--no-fund"], {
    purpose: "the AsyncAPI parser could not be installed (is registry.npmjs.org within reach?)",
    log: join(folder, "logs", "npm.log"),
    limitMs: INSTALL_MS,
    env: PROGRAM_ENV,
  });
  // written last by npm: an installation that broke off has none
  cpSync(join(OURS, LOCK), join(folder, LOCK));
}

/** The parser of the AsyncAPI initiative, for what it says of docs/asyncapi.yaml. */
export const asyncapi: Part = {
  name: "asyncapi",
  about: "the AsyncAPI initiative's parser",
  cost: "55 MB and ten seconds, from registry.npmjs.org",
  needs: [program("npm", "it comes with Node")],
  isInstalled: (folder) => read(join(folder, LOCK)) === read(join(OURS, LOCK)),
  install,
  start: (folder) =>
    Promise.resolve({
      env: { [PARSER_FOLDER]: join(folder, "parser") },
      versions: "@asyncapi/parser 3.6.6",
      stop: () => Promise.resolve(),
    }),
};
