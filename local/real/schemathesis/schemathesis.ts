import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { PROGRAM_ENV } from "../../harness/program.ts";
import { startProduct } from "../../harness/product.ts";
import { ROOT } from "../../tools/stack/project-root.ts";
import { freePort } from "../../tools/stack/ports.ts";
import { mustRun } from "../machine.ts";
import type { Part, Running } from "../part.ts";

const INSTALL_MS = 300_000;
const REQUIREMENTS = join(ROOT, "local", "real", "schemathesis", "requirements.txt");
const READY = "requirements.txt";
/** Ends with status 0 where Python is new enough for the pinned packages and brings what a folder of its own takes. */
const PYTHON_TEST = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

const pythonOf = (folder: string): string => join(folder, "python");
const programOf = (folder: string): string => join(pythonOf(folder), "bin", "st");

/** What the steps are given: where the product answers, who rules it, where it may report to, and the program. */
export const VARIABLES = {
  url: "SCHEMATHESIS_URL",
  email: "SCHEMATHESIS_EMAIL",
  password: "SCHEMATHESIS_PASSWORD",
  sink: "SCHEMATHESIS_SINK",
  program: "SCHEMATHESIS_PROGRAM",
} as const;

/** A receiver of the reports of tenants: it takes all of them. */
async function startReceiver(): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(204).end();
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${port}/`, server };
}

async function install(folder: string): Promise<void> {
  const log = join(folder, "logs", "pip.log");
  const python = pythonOf(folder);
  rmSync(python, { recursive: true, force: true });
  await mustRun("python3", ["-m", "venv", python], {
    purpose: `Python could not be given the folder ${python}`,
    log,
    limitMs: INSTALL_MS,
  });
  const pinned = ["install", "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", REQUIREMENTS];
  await mustRun(join(python, "bin", "pip"), pinned, {
    purpose: "schemathesis could not be installed (is pypi.org within reach?)",
    log,
    limitMs: INSTALL_MS,
  });
  writeFileSync(join(folder, READY), readFileSync(REQUIREMENTS));
}

async function start(folder: string): Promise<Running> {
  const product = await startProduct({ env: { API_RATE_LIMIT_PER_MINUTE: "0" } });
  const { stack } = product;
  const receiver = await startReceiver();
  return {
    env: {
      [VARIABLES.url]: stack.baseUrl,
      [VARIABLES.email]: stack.secrets.admin_email,
      [VARIABLES.password]: stack.secrets.admin_password,
      [VARIABLES.sink]: receiver.url,
      [VARIABLES.program]: programOf(folder),
    },
    versions: spawnSync(programOf(folder), ["--version"], { env: PROGRAM_ENV, encoding: "utf8" }).stdout.trim(),
    stop: async () => {
      await product.stop();
      receiver.server.closeAllConnections();
      await new Promise((resolve) => receiver.server.close(resolve));
    },
  };
}

/** A fuzzer of REST APIs: it reads the OpenAPI document, sends what may and what may not be sent, and judges the answers by the document. */
export const schemathesis: Part = {
  name: "schemathesis",
  about: "requests that schemathesis 4.32.5 makes up from the OpenAPI document, with every role",
  cost: "70 MB and half a minute, from pypi.org",
  needs: [
    {
      missing: "python3 (3.11 or later, with venv: apt-get install python3-venv)",
      isThere: () => spawnSync("python3", ["-c", PYTHON_TEST], { env: PROGRAM_ENV }).status === 0,
    },
  ],
  isInstalled: (folder) =>
    existsSync(join(folder, READY)) && readFileSync(join(folder, READY), "utf8") === readFileSync(REQUIREMENTS, "utf8"),
  install,
  start,
};
