import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { goInstall, program } from "../machine.ts";
import type { Part } from "../part.ts";

const VERSION = "v1.8.0";
const MODULE = `github.com/versity/versitygw/cmd/versitygw@${VERSION}`;
const BUILD_MS = 900_000;
/** Names the server's program, for the step, which starts and kills it. */
export const S3_PROGRAM_VARIABLE = "S3_SERVER";

const binary = (folder: string): string => join(folder, "bin", "versitygw");

/** Versity's S3 server, whose buckets are folders: what it has taken can be seen as a file. */
export const s3Server: Part = {
  name: "s3",
  about: `the S3 server versitygw ${VERSION}, which takes recordings from processes that share no folder`,
  cost: "80 MB and two minutes, from the Go module proxy",
  needs: [program("go", "https://go.dev/dl")],
  isInstalled: (folder) => existsSync(binary(folder)),
  install: (folder) => goInstall(folder, MODULE, MODULE, BUILD_MS),
  start: (folder) =>
    Promise.resolve({
      env: { [S3_PROGRAM_VARIABLE]: binary(folder) },
      versions:
        execFileSync(binary(folder), ["--version"], { encoding: "utf8" })
          .split("\n")
          .find((line) => /version/i.test(line))
          ?.trim() ?? `versitygw ${VERSION}`,
      stop: () => Promise.resolve(),
    }),
};
