import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasProgram, PROGRAM_ENV } from "../../harness/program.ts";
import { mustRun, program, ROOT_RIGHTS } from "../machine.ts";
import { PartError, type Part, type Running } from "../part.ts";

const PACKAGES = ["flite", "espeak-ng", "pocketsphinx", "pocketsphinx-en-us"];
const PROGRAMS = ["flite", "espeak-ng", "pocketsphinx_batch"];
const MODEL = "usr/share/pocketsphinx/model/en-us";
const FETCH_MS = 600_000;
const UNPACK_MS = 60_000;
const READY = "speech.ready";

const rootOf = (folder: string): string => join(folder, "root");
const onMachine = (): boolean => PROGRAMS.every(hasProgram) && existsSync(join("/", MODEL));

/** Fetches the packages and what they need besides what the machine has, and unpacks them: the machine's own packages stay as they are. */
async function install(folder: string): Promise<void> {
  const [fetched, log] = [join(folder, "packages"), join(folder, "logs", "apt.log")];
  mkdirSync(join(fetched, "partial"), { recursive: true });
  const purpose = `${PACKAGES.join(", ")} could not be fetched (is a Debian mirror within reach?)`;
  const apt = (...args: string[]): Promise<void> => mustRun("apt-get", args, { purpose, log, limitMs: FETCH_MS });
  await apt("update");
  await apt(
    "install",
    "-y",
    "--no-install-recommends",
    "--download-only",
    "-o",
    `Dir::Cache::archives=${fetched}`,
    ...PACKAGES,
  );
  const debs = readdirSync(fetched).filter((name) => name.endsWith(".deb"));
  for (const deb of debs)
    await mustRun("dpkg-deb", ["-x", join(fetched, deb), rootOf(folder)], {
      purpose: `${deb} could not be unpacked`,
      log,
      limitMs: UNPACK_MS,
    });
  if (!existsSync(join(rootOf(folder), MODEL)) && !onMachine())
    throw new PartError(`${PACKAGES.join(", ")} were fetched, but brought no acoustic model along: see ${log}`);
  writeFileSync(join(folder, READY), "");
}

/** What lets programs and libraries of the folder be found. */
function envOf(folder: string): Record<string, string> {
  if (onMachine()) return {};
  const root = rootOf(folder);
  const libraries = readdirSync(join(root, "usr/lib")).filter((name) => name.includes("-linux-"));
  const places = libraries.flatMap((name) =>
    ["", "blas", "lapack", "pulseaudio"].map((more) => join(root, "usr/lib", name, more)),
  );
  return {
    PATH: `${join(root, "usr/bin")}:${PROGRAM_ENV["PATH"] ?? ""}`,
    LD_LIBRARY_PATH: places.join(":"),
    ESPEAK_DATA_PATH: join(root, "usr/lib", libraries[0] ?? "", "espeak-ng-data"),
    CALLAGENT_SPEECH_MODEL: join(root, MODEL),
  };
}

/** Speech that no code of this project made or understood. */
export const speech: Part = {
  name: "speech",
  about: "flite and espeak-ng that speak, pocketsphinx that recognises (Debian's packages)",
  cost: "80 MB and a minute, from deb.debian.org",
  needs: [ROOT_RIGHTS, program("apt-get", "Debian or Ubuntu"), program("dpkg-deb", "Debian or Ubuntu")],
  isInstalled: (folder) => onMachine() || existsSync(join(folder, READY)),
  install,
  start: (folder): Promise<Running> =>
    Promise.resolve({
      env: envOf(folder),
      versions: onMachine() ? "the machine's own" : "Debian's, in a folder of their own",
      stop: () => Promise.resolve(),
    }),
};
