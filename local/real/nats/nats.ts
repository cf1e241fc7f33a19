import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NATS_PROGRAM_VARIABLE, NATS_TLS_VARIABLE, tlsFilesIn } from "../../tools/stack/split-bus.ts";
import { goInstall, mustRun, program } from "../machine.ts";
import type { Part, Running } from "../part.ts";

/** The newest nats-server when this was written; Debian 12 has 2.9. */
const NATS_VERSION = "v2.15.2";
const MODULE = `github.com/nats-io/nats-server/v2@${NATS_VERSION}`;
const CLI_VERSION = "v0.5.1";
const CLI_MODULE = `github.com/nats-io/natscli/nats@${CLI_VERSION}`;
/** Names the `nats` command line. */
const CLI_VARIABLE = "NATS_CLI";
const BUILD_MS = 900_000;
const OPENSSL_MS = 30_000;

const binary = (folder: string): string => join(folder, "bin", "nats-server");
const commandLine = (folder: string): string => join(folder, "bin", "nats");

const build = (folder: string, module: string): Promise<void> => goInstall(folder, module, module, BUILD_MS);

/** An authority of the run's own, and a certificate of it for 127.0.0.1. */
async function makeTlsFiles(folder: string, logs: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { ca, cert, key } = tlsFilesIn(folder);
  const at = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): Promise<void> =>
    mustRun("openssl", args, {
      purpose: "TLS files for the NATS server could not be made",
      log: join(logs, "openssl.log"),
      limitMs: OPENSSL_MS,
    });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  writeFileSync(at("names"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
  await openssl("req", "-x509", ...newKey, "-days", "2", "-subj", "/CN=callagent", "-keyout", at("ca.key"), "-out", ca);
  await openssl("req", ...newKey, "-subj", "/CN=nats", "-keyout", key, "-out", at("server.csr"));
  const signing = ["-CA", ca, "-CAkey", at("ca.key"), "-CAcreateserial", "-extfile", at("names")];
  await openssl("x509", "-req", "-in", at("server.csr"), ...signing, "-days", "2", "-out", cert);
}

async function start(folder: string): Promise<Running> {
  const tls = join(folder, "tls");
  await makeTlsFiles(tls, join(folder, "logs"));
  const version = execFileSync(binary(folder), ["--version"], { encoding: "utf8" }).trim();
  return {
    env: {
      [NATS_PROGRAM_VARIABLE]: binary(folder),
      [NATS_TLS_VARIABLE]: tls,
    },
    versions: `${version}, started by each split stack with TLS and a user for each service`,
    stop: () => Promise.resolve(),
  };
}

/** The newest NATS server, with TLS: split stacks start it themselves, with users of their own. */
export const nats: Part = {
  name: "nats",
  about: `nats-server ${NATS_VERSION}, with TLS and permissions`,
  cost: "25 MB and 1 to 2 minutes, from the Go module proxy",
  needs: [program("go", "https://go.dev/dl"), program("openssl", "apt-get install openssl")],
  isInstalled: (folder) => existsSync(binary(folder)),
  install: (folder) => build(folder, MODULE),
  start,
};

/** The command line of NATS, as readers of events use it. */
export const natsCli: Part = {
  name: "nats-cli",
  about: `the command line nats ${CLI_VERSION}`,
  cost: "40 MB and 1 to 2 minutes, from the Go module proxy",
  needs: [program("go", "https://go.dev/dl")],
  isInstalled: (folder) => existsSync(commandLine(folder)),
  install: (folder) => build(folder, CLI_MODULE),
  start: (folder) =>
    Promise.resolve({
      env: { [CLI_VARIABLE]: commandLine(folder) },
      versions: `nats ${CLI_VERSION}`,
      stop: () => Promise.resolve(),
    }),
};
