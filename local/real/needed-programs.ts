import { spawnSync } from "node:child_process";
import { hasProgram, PROGRAM_ENV, runProgram } from "../harness/program.ts";

const APT_MS = 900_000;

/** Programs that tests need beyond npm. `purpose`: for what; `packages`: of Debian; `elsewhere`: how they are had on other systems. */
export interface NeededPrograms {
  programs: readonly string[];
  packages: readonly string[];
  purpose: string;
  elsewhere: string;
}

/** The bus of one process per service. */
export const NATS_SERVER: NeededPrograms = {
  programs: ["nats-server"],
  packages: ["nats-server"],
  purpose: "the tests that run one process per service",
  elsewhere: "macOS: brew install nats-server; else https://docs.nats.io",
};

/** What must stand before apt-get: nothing for root, sudo where it asks for no password; null: neither. */
function rights(): string[] | null {
  if (process.getuid?.() === 0) return [];
  const sudo =
    hasProgram("sudo") && spawnSync("sudo", ["-n", "true"], { env: PROGRAM_ENV, stdio: "ignore" }).status === 0;
  return sudo ? ["sudo", "-n"] : null;
}

/** Installs what npm cannot, saying so first; false: something is missing, and a person was told what to install. */
export async function provide({ programs, packages, purpose, elsewhere }: NeededPrograms): Promise<boolean> {
  const missing = (): string[] => programs.filter((name) => !hasProgram(name));
  if (missing().length === 0) return true;
  const prefix = hasProgram("apt-get") ? rights() : null;
  const install = ["install", "-y", "--no-install-recommends", ...packages];
  if (prefix !== null) {
    const command = [...prefix, "apt-get", ...install].join(" ");
    console.log(
      `${missing().join(", ")}: needed by ${purpose}, and not on the PATH. Installing Debian's packages now: ${command}`,
    );
    const apt = (...args: string[]): Promise<number> => {
      const [program = "apt-get", ...rest] = [...prefix, "apt-get", ...args];
      return runProgram(program, rest, { limitMs: APT_MS });
    };
    if ((await apt(...install)) !== 0 && (await apt("update")) === 0) await apt(...install);
  }
  if (missing().length === 0) return true;
  console.error(
    `${missing().join(", ")}: missing, and could not be installed from here; needed by ${purpose}.\n` +
      `Install it (Debian: sudo apt install ${packages.join(" ")}; ${elsewhere}) and try again.`,
  );
  return false;
}
