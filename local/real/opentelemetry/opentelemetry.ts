import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { PROGRAM_ENV } from "../../harness/program.ts";
import { ROOT } from "../../tools/stack/project-root.ts";
import { mustDownload, program } from "../machine.ts";
import type { Part } from "../part.ts";

const OURS = join(ROOT, "local", "real", "opentelemetry", "collector");
const BUILD_MS = 1_200_000;
/** Written last: a build that broke off has none. */
const DONE = "go.sum";
/** Names the collector's program, for the step. */
export const COLLECTOR_VARIABLE = "OTEL_COLLECTOR";

const binary = (folder: string): string => join(folder, "otelcol");
const read = (file: string): string | null => (existsSync(file) ? readFileSync(file, "utf8") : null);

async function build(folder: string): Promise<void> {
  const [source, go] = [join(folder, "source"), join(folder, "go")];
  mkdirSync(source, { recursive: true });
  cpSync(OURS, source, { recursive: true });
  await mustDownload("go", ["build", "-C", source, "-o", binary(folder), "."], {
    purpose: "the collector could not be built (is the Go module proxy within reach?)",
    log: join(folder, "logs", "go.log"),
    limitMs: BUILD_MS,
    env: {
      ...PROGRAM_ENV,
      GOPATH: go,
      GOMODCACHE: join(go, "mod"),
      GOCACHE: join(go, "build"),
      GOFLAGS: "-modcacherw",
    },
  });
  rmSync(go, { recursive: true, force: true });
  cpSync(join(OURS, DONE), join(folder, DONE));
}

/** OpenTelemetry's collector with what the step needs of it: OTLP comes in, and each span is written into its log. */
export const opentelemetry: Part = {
  name: "opentelemetry",
  about: "OpenTelemetry's collector v0.165.0, which is sent the trace of a lead",
  cost: "40 MB and two minutes, from the Go module proxy",
  needs: [program("go", "https://go.dev/dl")],
  isInstalled: (folder) => existsSync(binary(folder)) && read(join(folder, DONE)) === read(join(OURS, DONE)),
  install: build,
  start: (folder) =>
    Promise.resolve({
      env: { [COLLECTOR_VARIABLE]: binary(folder) },
      versions: "otelcol 0.165.0",
      stop: () => Promise.resolve(),
    }),
};
