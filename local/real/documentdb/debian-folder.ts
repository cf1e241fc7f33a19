import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasProgram } from "../../harness/program.ts";
import { mustRun, type Work } from "../machine.ts";
import { PartError } from "../part.ts";

/** Debian's unstable release in a folder of its own: it has packages that the machine's release does not. */
const RELEASE = "sid";
const PACKAGE = "postgresql-18-documentdb";
const BOOTSTRAP_MS = 600_000;
const PACKAGES_MS = 600_000;
const READY = "debian.ready";

/** Runs a command in a root folder. What it mounts is seen by its own mount namespace alone and goes with its last process: the folder can be removed at any time. */
const INSIDE =
  'mount --rbind /proc "$1/proc" && mkdir -p "$1/dev/shm" && mount --bind /dev/shm "$1/dev/shm" && shift && exec chroot "$@"';
const APART = ["--mount", "--propagation", "private"];
const PATHS = {
  root: "/usr/sbin:/usr/bin:/sbin:/bin",
  postgres: "/usr/lib/postgresql/18/bin:/usr/bin:/bin",
} as const;

/** The root of the Debian folder below a part's folder. */
export const rootOf = (folder: string): string => join(folder, "debian");

/** True once everything is in the Debian folder. */
export const isReady = (folder: string): boolean => existsSync(join(folder, READY));

/** The arguments of unshare(1) that run a command in the Debian folder. */
export const inside = (folder: string, user: keyof typeof PATHS, command: readonly string[]): string[] => {
  const own = user === "root" ? [] : [`--userspec=${user}`];
  const env = ["/usr/bin/env", `PATH=${PATHS[user]}`, "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"];
  return [...APART, "bash", "-c", INSIDE, "bash", rootOf(folder), ...own, rootOf(folder), ...env, ...command];
};

/** debootstrap: the machine's, or the package of that name unpacked below the part's folder, so that the machine stays as it is. */
async function debootstrap(folder: string, work: Work): Promise<{ command: string; env: Record<string, string> }> {
  if (hasProgram("debootstrap")) return { command: "debootstrap", env: {} };
  const own = join(folder, "debootstrap");
  mkdirSync(own, { recursive: true });
  const fetched = (): string | undefined => readdirSync(own).find((name) => name.endsWith(".deb"));
  const fetch = ["-c", 'cd "$1" && (apt-get download debootstrap || (apt-get update && apt-get download debootstrap))'];
  await mustRun("bash", [...fetch, "bash", own], work);
  await mustRun("dpkg-deb", ["-x", join(own, fetched() ?? ""), own], work);
  return { command: join(own, "usr/sbin/debootstrap"), env: { DEBOOTSTRAP_DIR: join(own, "usr/share/debootstrap") } };
}

/** Makes the Debian folder with the database's package in it; what an earlier, broken installation left is removed. Throws PartError. */
export async function installDebian(folder: string): Promise<void> {
  const root = rootOf(folder);
  const work = {
    purpose: `Debian ${RELEASE} could not be put into ${root} (is deb.debian.org within reach?)`,
    log: join(folder, "logs", "debian.log"),
    limitMs: BOOTSTRAP_MS,
  };
  rmSync(root, { recursive: true, force: true });
  const { command, env } = await debootstrap(folder, work);
  const bootstrap = [...APART, "/usr/bin/env", ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  await mustRun("unshare", [...bootstrap, command, "--variant=minbase", RELEASE, root], work);
  if (existsSync("/etc/resolv.conf")) copyFileSync("/etc/resolv.conf", join(root, "etc/resolv.conf"));
  const apt = (...args: string[]): Promise<void> =>
    mustRun("unshare", inside(folder, "root", ["apt-get", "-o", "Acquire::Retries=3", ...args]), {
      ...work,
      purpose: `${PACKAGE} could not be installed from Debian ${RELEASE}`,
      limitMs: PACKAGES_MS,
    });
  await apt("-o", "Acquire::Check-Valid-Until=false", "update");
  await apt("install", "-y", "--no-install-recommends", PACKAGE);
  await apt("clean");
  if (!existsSync(join(root, "usr/lib/postgresql/18/bin/initdb")))
    throw new PartError(`${PACKAGE} was installed into ${root}, but brought no PostgreSQL 18 along: see ${work.log}`);
  writeFileSync(join(folder, READY), "");
}
