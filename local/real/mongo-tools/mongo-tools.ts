import { execFileSync } from "node:child_process";
import { PROGRAM_ENV } from "../../harness/program.ts";
import { program } from "../machine.ts";
import type { Part } from "../part.ts";

/** Where it is set, the drill of a restore copies the database by mongodump and mongorestore of the PATH. */
export const MONGO_TOOLS_VARIABLE = "MONGO_TOOLS";
const FROM = "MongoDB's Database Tools: https://www.mongodb.com/docs/database-tools/installation/";

/** mongodump and mongorestore, as the machine has them. */
export const mongoTools: Part = {
  name: "mongo-tools",
  about: "mongodump and mongorestore of the machine, which copy the database while calls are under way and restore it",
  cost: "nothing",
  needs: [program("mongodump", FROM), program("mongorestore", FROM)],
  isInstalled: () => true,
  install: () => Promise.resolve(),
  start: () =>
    Promise.resolve({
      env: { [MONGO_TOOLS_VARIABLE]: "1" },
      versions:
        execFileSync("mongodump", ["--version"], { encoding: "utf8", env: PROGRAM_ENV }).split("\n")[0]?.trim() ?? "",
      stop: () => Promise.resolve(),
    }),
};
