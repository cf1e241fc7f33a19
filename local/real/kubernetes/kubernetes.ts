import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { goInstall, program } from "../machine.ts";
import type { Part } from "../part.ts";

/** Both know Kubernetes' own schemas, so nothing is asked of a cluster or of the network. */
const MODULES = ["helm.sh/helm/v3/cmd/helm@v3.22.0", "sigs.k8s.io/kubectl-validate@v0.0.4"];
const BUILD_MS = 1_800_000;
/** The folder of the programs, for the step. */
export const TOOLS_VARIABLE = "KUBERNETES_TOOLS";

const bin = (folder: string): string => join(folder, "bin");
const isThere = (folder: string): boolean =>
  ["helm", "kubectl-validate"].every((name) => existsSync(join(bin(folder), name)));

async function build(folder: string): Promise<void> {
  for (const module of MODULES) await goInstall(folder, module, module, BUILD_MS);
}

/** Helm, which renders the chart of deploy/kubernetes, and kubectl-validate, which checks it by Kubernetes' own schemas. */
export const kubernetes: Part = {
  name: "kubernetes",
  about:
    "helm v3.22.0 and kubectl-validate v0.0.4, which lint, render and check the chart of deploy/kubernetes offline",
  cost: "170 MB and 4 minutes, from the Go module proxy",
  needs: [program("go", "https://go.dev/dl")],
  isInstalled: isThere,
  install: build,
  start: (folder) =>
    Promise.resolve({
      env: { [TOOLS_VARIABLE]: bin(folder) },
      versions: `helm ${execFileSync(join(bin(folder), "helm"), ["version", "--short"], { encoding: "utf8" }).trim()}`,
      stop: () => Promise.resolve(),
    }),
};
