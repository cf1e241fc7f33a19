import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasProgram } from "../../local/harness/program.ts";
import { RECEIVER_VARIABLES } from "../../local/real/receivers/receivers.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import { receivedCases, type ReceivedCase } from "../fixtures/webhook-cases.ts";
import { sumOf, type Outcome, type Step } from "./outcome.ts";

const RUN_MS = 120_000;
const OURS = join(ROOT, "deploy", "webhooks");
const RUNNERS = join(ROOT, "test", "real", "receivers");

type Command = readonly [program: string, ...args: string[]];
/** A receiver: what makes it ready, and what takes the requests as lines. */
interface Receiver {
  name: string;
  /** What it needs, and how to get it. */
  program: string;
  remedy: string;
  prepare: readonly Command[];
  run: Command;
}

const ofPython = (name: string, python: string, what: string): Receiver => ({
  name,
  program: "python3",
  remedy: "apt-get install python3",
  prepare: [],
  run: [python, join(RUNNERS, "run.py"), what],
});

/** A package of the module at `go`, built into `work`. */
const ofGo = (name: string, go: string, work: string, packaged: string): Receiver => ({
  name,
  program: "go",
  remedy: "https://go.dev/dl",
  prepare: [["go", "-C", go, "build", "-o", join(work, packaged), `./${packaged}`]],
  run: [join(work, packaged)],
});

const ofJava = (java: string): Receiver => ({
  name: "Java",
  program: "javac",
  remedy: "apt-get install default-jdk-headless",
  prepare: [["javac", "-d", java, join(OURS, "Verify.java"), join(RUNNERS, "Run.java")]],
  run: ["java", "-cp", java, "Run"],
});

const PHP: Receiver = {
  name: "PHP",
  program: "php",
  remedy: "apt-get install php-cli",
  prepare: [],
  run: ["php", join(RUNNERS, "run.php"), join(OURS, "verify.php")],
};

/** Every receiver; `work` is an empty folder, `python` and `go` are of the part. */
const receiversIn = (work: string, python: string, go: string): Receiver[] => [
  ofPython("Python", python, join(OURS, "verify.py")),
  ofPython("standardwebhooks of PyPI", python, "--library"),
  ofGo("Go", go, work, "sample"),
  ofGo("standard-webhooks of Go", go, work, "library"),
  ofJava(join(work, "java")),
  PHP,
];

/** The Go programs as packages of the part's module. */
function placeGo(go: string): void {
  for (const [file, folder] of [
    [join(OURS, "verify.go"), "webhooks"],
    [join(RUNNERS, "sample.go"), "sample"],
    [join(RUNNERS, "library.go"), "library"],
  ] as const) {
    mkdirSync(join(go, folder), { recursive: true });
    cpSync(file, join(go, folder, "main.go"));
  }
}

const lineOf = ({ secret, id, timestamp, signature, body }: ReceivedCase, now: number): string =>
  [secret, id, timestamp, signature, Buffer.from(body).toString("base64"), now].join("\t");

function judge(receiver: Receiver, env: NodeJS.ProcessEnv, log: string): Outcome {
  if (!hasProgram(receiver.program))
    return {
      passed: 0,
      failed: 0,
      skipped: [{ name: receiver.name, reason: `${receiver.program} is missing (${receiver.remedy})` }],
      said: "",
    };
  const how = { env, encoding: "utf8", timeout: RUN_MS } as const;
  for (const [command, ...args] of receiver.prepare) {
    const { status, stderr } = spawnSync(command, args, how);
    if (status !== 0) return { passed: 0, failed: 1, skipped: [], said: `${receiver.name}: ${stderr}\n` };
  }
  const now = Math.floor(Date.now() / 1000);
  const cases = receivedCases(now);
  const [command, ...args] = receiver.run;
  const answer = spawnSync(command, args, { ...how, input: cases.map((one) => `${lineOf(one, now)}\n`).join("") });
  const told = answer.stdout.trim().split("\n");
  appendFileSync(log, `${receiver.name}: ${answer.stdout}${answer.stderr}`);
  const wrong = cases.filter((one, i) => told[i] !== (one.isOurs ? "ours" : "not ours")).map((one) => one.title);
  const said = wrong.map((title) => `${receiver.name}: ${title} is judged wrongly\n`).join("");
  return { passed: cases.length - wrong.length, failed: wrong.length, skipped: [], said };
}

/** Every function of docs/webhooks.md, and the official libraries, take what we sign and refuse what was changed. */
export const receiversStep: Step = {
  name: "languages",
  isShort: true,
  run(env, log) {
    const [python, go] = [env[RECEIVER_VARIABLES.python] ?? "python3", env[RECEIVER_VARIABLES.go] ?? ""];
    const work = mkdtempSync(join(tmpdir(), "callagent-receivers-"));
    try {
      placeGo(go);
      return Promise.resolve(sumOf(receiversIn(work, python, go).map((receiver) => judge(receiver, env, log))));
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  },
};
