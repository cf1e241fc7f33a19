import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { hasProgram, PROGRAM_ENV } from "../../harness/program.ts";
import type { NeededPrograms } from "../needed-programs.ts";
import { hasSoundCard } from "./sound-card.ts";
import { mustRun, program, ROOT_RIGHTS } from "../machine.ts";
import type { Part, Running } from "../part.ts";

/** Names the browser that the steps drive. */
export const CHROMIUM_VARIABLE = "CALLAGENT_CHROMIUM";
const PROGRAM = "chromium";
/** Another browser, a sound card that is heard and spoken to from outside, and real speech both ways. */
const SPEECH = ["flite", "pocketsphinx"];
const PACKAGES = [PROGRAM, "firefox-esr", "pulseaudio", "pulseaudio-utils", ...SPEECH, "pocketsphinx-en-us"];
const PROGRAMS = [PROGRAM, "firefox-esr", "flite", "pocketsphinx_batch"];
const FETCH_MS = 900_000;
/** What the tests of pages need: Firefox has no sound without a sound card. */
export const PAGE_BROWSERS: NeededPrograms = {
  programs: [PROGRAM, "firefox-esr", "pulseaudio", "pacat", "pactl"],
  packages: [PROGRAM, "firefox-esr", "pulseaudio", "pulseaudio-utils"],
  purpose: "the tests that press the buttons of the pages in browsers",
  elsewhere: "else programs of these names on the PATH",
};

async function install(folder: string): Promise<void> {
  const log = join(folder, "logs", "apt.log");
  const purpose = `${PACKAGES.join(", ")} could not be installed (is a Debian mirror within reach?)`;
  await mustRun("apt-get", ["update"], { purpose, log, limitMs: FETCH_MS, env: PROGRAM_ENV });
  const args = ["install", "-y", "--no-install-recommends", ...PACKAGES];
  await mustRun("apt-get", args, { purpose, log, limitMs: FETCH_MS, env: PROGRAM_ENV });
}

/** Real browsers with a microphone and a loudspeaker that are files, or of a sound card by PulseAudio. */
export const browser: Part = {
  name: "browser",
  about:
    "Debian's Chromium and Firefox, driven from outside, with microphones that are files, a sound card by PulseAudio, and real speech by flite and pocketsphinx",
  cost: "0.8 GB and a minute, from deb.debian.org, by apt-get on the machine itself: they stay there",
  needs: [ROOT_RIGHTS, program("apt-get", "Debian or Ubuntu")],
  isInstalled: () => PROGRAMS.every(hasProgram) && hasSoundCard(),
  install,
  start: (): Promise<Running> =>
    Promise.resolve({
      env: { [CHROMIUM_VARIABLE]: PROGRAM },
      versions: execFileSync(PROGRAM, ["--version"], { encoding: "utf8", env: PROGRAM_ENV }).trim(),
      stop: () => Promise.resolve(),
    }),
};
