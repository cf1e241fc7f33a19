import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** `npm test`: everything the tests need, then type-check, linter and jest. With arguments only jest runs, and they go to it. */
const ROOT = join(import.meta.dirname, "..");
const SECOND_MS = 1000;
const APT_MS = 120 * SECOND_MS;
const CHECK_MS = 300 * SECOND_MS;
const JEST_MS = 1300 * SECOND_MS;
/** One more than there are cores: half of the tests' time is spent waiting for leases, sweeps and faults of real processes. */
const WORKERS = availableParallelism() + 1;
/** Debian keeps servers here, which is not on everybody's PATH. */
const SERVER_FOLDERS = ["/usr/sbin", "/usr/local/sbin"];
const JEST = [
  "--experimental-vm-modules",
  "--disable-warning=ExperimentalWarning",
  join(ROOT, "node_modules", "jest", "bin", "jest.js"),
];

/** The compiler of the tree. The package `typescript` is version 5, which openapi-typescript builds with, and checks nothing here. */
const COMPILER = join(ROOT, "node_modules", "typescript-native", "bin", "tsc");

interface Counts {
  passed: number;
  failed: number;
}
interface JestReport {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numRuntimeErrorTestSuites: number;
}

const path = [join(ROOT, "node_modules", ".bin"), process.env["PATH"] ?? "", ...SERVER_FOLDERS].join(delimiter);
const onPath = (program: string): boolean =>
  path.split(delimiter).some((folder) => folder !== "" && existsSync(join(folder, program)));

/** Runs a program with our own streams; its exit status, 1 when it could not be started or was ended. */
function run(command: string, args: string[], limitMs: number): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: ROOT,
      stdio: "inherit",
      env: { ...process.env, PATH: path, DEBIAN_FRONTEND: "noninteractive" },
    });
    const late = setTimeout(() => {
      console.error(`${command} did not end within ${limitMs / SECOND_MS} s and is stopped.`);
      child.kill("SIGTERM");
    }, limitMs);
    const pass = (signal: NodeJS.Signals): void => {
      child.kill(signal);
    };
    process.on("SIGTERM", pass).on("SIGINT", pass);
    const end = (status: number): void => {
      clearTimeout(late);
      process.off("SIGTERM", pass).off("SIGINT", pass);
      resolve(status);
    };
    child.once("error", (error) => {
      console.error(`${command} could not be started: ${error.message}`);
      end(1);
    });
    child.once("exit", (code) => end(code ?? 1));
  });
}

const title = (text: string): void => console.log(`\n== ${text}`);

/** What must stand before apt-get: nothing for root, sudo where it asks for no password; null: neither. */
function rights(): string[] | null {
  if (process.getuid?.() === 0) return [];
  const sudo =
    onPath("sudo") &&
    spawnSync("sudo", ["-n", "true"], { env: { ...process.env, PATH: path }, stdio: "ignore" }).status === 0;
  return sudo ? ["sudo", "-n"] : null;
}

/** Installs what npm cannot, saying so first; false: it is missing, and a person was told what to install. */
async function provideNats(): Promise<boolean> {
  title("nats-server");
  if (onPath("nats-server")) {
    console.log("is there");
    return true;
  }
  const prefix = onPath("apt-get") ? rights() : null;
  if (prefix !== null) {
    const command = [...prefix, "apt-get", "install", "-y", "--no-install-recommends", "nats-server"].join(" ");
    console.log(`The tests need nats-server, which is not on the PATH. Installing Debian's package now: ${command}`);
    const apt = (...args: string[]): Promise<number> => {
      const [program = "apt-get", ...rest] = [...prefix, "apt-get", ...args];
      return run(program, rest, APT_MS);
    };
    const install = (): Promise<number> => apt("install", "-y", "--no-install-recommends", "nats-server");
    if ((await install()) !== 0 && (await apt("update")) === 0) await install();
  }
  if (onPath("nats-server")) return true;
  console.error(
    "nats-server is missing and could not be installed from here. The tests that run one process per service need it.\n" +
      "Install it (Debian, Ubuntu: sudo apt install nats-server; macOS: brew install nats-server; else https://docs.nats.io) and run npm test again.",
  );
  return false;
}

async function check(name: string, command: string, args: string[]): Promise<Counts> {
  title(name);
  const passed = (await run(command, args, CHECK_MS)) === 0;
  console.log(passed ? `${name}: clean` : `${name}: failed`);
  return passed ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

/** What jest wrote of its run. A run that broke off without a report, or failed without saying in which test, counts as one failure. */
function readReport(file: string, status: number): Counts {
  if (!existsSync(file)) return { passed: 0, failed: 1 };
  const report = JSON.parse(readFileSync(file, "utf8")) as JestReport;
  const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
  if (report.numPendingTests > 0) console.log(`${report.numPendingTests} skipped`);
  return { passed: report.numPassedTests, failed: failed === 0 && status !== 0 ? 1 : failed };
}

async function jest(): Promise<Counts> {
  title("tests");
  const folder = mkdtempSync(join(tmpdir(), "callagent-jest-"));
  const file = join(folder, "report.json");
  try {
    return readReport(
      file,
      await run(process.execPath, [...JEST, `--maxWorkers=${WORKERS}`, "--json", `--outputFile=${file}`], JEST_MS),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function all(): Promise<number> {
  if (!(await provideNats())) {
    console.log("\n0 passed, 1 failed");
    return 1;
  }
  const bin = (name: string): string => join(ROOT, "node_modules", ".bin", name);
  const counts = [
    await check("type-check", process.execPath, [COMPILER, "--noEmit"]),
    await check("format", bin("oxfmt"), ["--check"]),
    await check("lint", bin("oxlint"), []),
    await jest(),
  ];
  const sum = (of: keyof Counts): number => counts.reduce((total, c) => total + c[of], 0);
  console.log(`\n${sum("passed")} passed, ${sum("failed")} failed`);
  return sum("failed") === 0 ? 0 : 1;
}

const args = process.argv.slice(2);
process.exitCode = args.length > 0 ? await run(process.execPath, [...JEST, ...args], JEST_MS) : await all();
