import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { hasProgram, PROGRAM_ENV } from "../../harness/program.ts";
import { mustRun, program, ROOT_RIGHTS } from "../machine.ts";
import type { Part, Running } from "../part.ts";

/** Names the browser that the steps drive. */
export const CHROMIUM_VARIABLE = "CALLAGENT_CHROMIUM";
const PROGRAM = "chromium";
const FETCH_MS = 900_000;

async function install(folder: string): Promise<void> {
  const log = join(folder, "logs", "apt.log");
  const purpose = `${PROGRAM} could not be installed (is a Debian mirror within reach?)`;
  await mustRun("apt-get", ["update"], { purpose, log, limitMs: FETCH_MS, env: PROGRAM_ENV });
  const args = ["install", "-y", "--no-install-recommends", PROGRAM];
  await mustRun("apt-get", args, { purpose, log, limitMs: FETCH_MS, env: PROGRAM_ENV });
}

/** A real browser with a microphone and a loudspeaker that are files. */
export const browser: Part = {
  name: "browser",
  about: "Debian's Chromium, driven over its DevTools, with a microphone that is a file",
  cost: "0.4 GB and a minute, from deb.debian.org, by apt-get on the machine itself: it stays there",
  needs: [ROOT_RIGHTS, program("apt-get", "Debian or Ubuntu")],
  isInstalled: () => hasProgram(PROGRAM),
  install,
  start: (): Promise<Running> =>
    Promise.resolve({
      env: { [CHROMIUM_VARIABLE]: PROGRAM },
      versions: execFileSync(PROGRAM, ["--version"], { encoding: "utf8", env: PROGRAM_ENV }).trim(),
      stop: () => Promise.resolve(),
    }),
};
