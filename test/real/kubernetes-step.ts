import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TOOLS_VARIABLE } from "../../local/real/kubernetes/kubernetes.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import type { Outcome, Step } from "./outcome.ts";

const CHART = join(ROOT, "deploy", "kubernetes");
/** Kubernetes' versions that the chart is checked for; kubectl-validate has their schemas in it. */
const VERSIONS = ["1.27", "1.30"];
const LIMIT_MS = 120_000;
/** Settings that the chart is rendered with: by their name, arguments of helm. */
const SETTINGS: Readonly<Record<string, readonly string[]>> = {
  "as it is": [],
  "with autoscaling and a claim": ["--set", "autoscaling.enabled=true,recordings.claimName=recordings"],
  "with recordings of our own": ["--set", "config.RECORDING_SOURCE=own,recordings.claimName=recordings"],
  "with recordings of our own in a bucket": [
    "--set-string",
    "config.RECORDING_SOURCE=own,config.UPLOAD_CALL_RECORDINGS_TO_CLOUD=true,config.S3_BUCKET=recordings",
  ],
  "with every secret and closed to but one": [
    "--set",
    "secrets={MONGODB_URI,JWT_PRIVATE_KEY,JWT_OTHER_KEY,SECRETS_KEY,TWILIO_AUTH_TOKEN,OPENAI_API_KEY,STT_API_KEY}",
    "--set",
    "networkPolicies.ingress[0].ipBlock.cidr=10.0.0.0/8,image.pullSecrets[0].name=registry",
  ],
};

/** Settings that the chart refuses, with what it says. */
const REFUSED: readonly [name: string, settings: string, said: string][] = [
  ["recordings of our own without a claim", "config.RECORDING_SOURCE=own", "recordings.claimName is empty"],
  ["an admin's password without the e-mail", "adminEmail=", "adminEmail is empty"],
];

interface Ran {
  stdout: string;
  fault: string | null;
}

function run(program: string, args: readonly string[]): Ran {
  const { status, stdout, stderr, error } = spawnSync(program, [...args], { encoding: "utf8", timeout: LIMIT_MS });
  if (status === 0) return { stdout, fault: null };
  return { stdout, fault: `${error?.message ?? ""}${stdout ?? ""}${stderr ?? ""}`.slice(-2000) };
}

/** The keys of the Secret that docs/kubernetes.md has made. */
const documentedKeys = (): Set<string> => {
  const page = readFileSync(join(ROOT, "docs", "kubernetes.md"), "utf8");
  return new Set([...page.matchAll(/--from-(?:literal|file)=([A-Z_]+)=/g)].map(([, key = ""]) => key));
};

/** Keys that a rendered pod mounts and the documented Secret does not have: it would never start. */
function missingKeys(rendered: string): string | null {
  const [made, mounted] = [
    documentedKeys(),
    [...rendered.matchAll(/\{ key: ([A-Z_]+), path: /g)].map(([, key = ""]) => key),
  ];
  if (mounted.length === 0) return "no pod mounts a key of the Secret";
  const missing = [...new Set(mounted)].filter((key) => !made.has(key));
  return missing.length === 0 ? null : `the documented Secret lacks ${missing.join(", ")}`;
}

/** helm lints and renders the chart, kubectl-validate checks what it rendered. */
export const chartStep: Step = {
  name: "chart",
  isShort: false,
  run(env) {
    const tool = (name: string): string => join(env[TOOLS_VARIABLE] ?? "", name);
    const folder = mkdtempSync(join(tmpdir(), "callagent-chart-"));
    const found: [string, string | null][] = [["helm lint", run(tool("helm"), ["lint", "--strict", CHART]).fault]];
    try {
      for (const [name, settings] of Object.entries(SETTINGS))
        for (const version of VERSIONS) {
          const at = ["template", "callagent", CHART, "--kube-version", `${version}.0`, ...settings];
          const { stdout, fault } = run(tool("helm"), at);
          found.push([`helm template, ${name}, ${version}`, fault]);
          if (settings.length === 0 && fault === null)
            found.push([`the documented Secret, ${version}`, missingKeys(stdout)]);
          const file = join(folder, "rendered.yaml");
          writeFileSync(file, stdout);
          const checked = fault === null ? run(tool("kubectl-validate"), [file, "--version", version]).fault : fault;
          found.push([`kubectl-validate, ${name}, ${version}`, checked]);
        }
      for (const [name, settings, said] of REFUSED) {
        const { fault } = run(tool("helm"), [
          "template",
          "callagent",
          CHART,
          "--kube-version",
          `${VERSIONS[0]}.0`,
          "--set",
          settings,
        ]);
        found.push([`refused: ${name}`, fault?.includes(said) ? null : (fault ?? "the chart takes it")]);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
    const wrong = found.filter(([, fault]) => fault !== null);
    const outcome: Outcome = {
      passed: found.length - wrong.length,
      failed: wrong.length,
      skipped: [],
      said: wrong.map(([name, fault]) => `${name}: ${fault}`).join("\n"),
    };
    return Promise.resolve(outcome);
  },
};
