import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir, availableParallelism } from "node:os";
import { join } from "node:path";
import { topFunctions, topOf, median, quantile } from "../figures.ts";
import { frameTicker, type FrameTicker } from "./frame-clock.ts";
import { busy } from "./result-rows.ts";
import { words } from "./sounds.ts";
import { startStubModels, type StubModels } from "./stub-models.ts";
import { callsOf, endlessTemplate, spread, type Call } from "./answered-calls.ts";
import { startConversationProcess, type ConversationProcess } from "./conversation-process.ts";
import type { Measured } from "./ipc-messages.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { execFileSync } from "node:child_process";

/** Calls at once, step by step. */
const COUNTS = [50, 100, 200, 400];
/** A turn of a call: the caller speaks for a second and a half, the agent for four, the rest is silence. An answer that does not come counts as so late. */
export const PERIOD_MS = 8000;
const CALLER_SAYS = "Yes, write that down, now.";
/** Calls are answered this far apart, so that a step begins as calls do, and not in one instant. */
const ANSWERED_EVERY_MS = 15;
/** After the last call what it left behind gets so long to be let go of. */
const LET_GO_MS = 8000;
const POLL_MS = 250;
const ASKED_LATE_MS = 40;
const ASKED_AT = 200;
const ASKED_RSS_MB = 1.5;
/** The processor of the process under measurement; everything else has the others. */
const PROCESSOR = 0;

/** What one number of calls came to. `left`: what is open afterwards and was not before. */
export interface LoadStep {
  calls: number;
  seconds: number;
  frames: number;
  late_p50_ms: number;
  late_p99_ms: number;
  late_max_ms: number;
  holes: number;
  answers_p50_ms: number;
  answers_p99_ms: number;
  talked_share: number;
  lag_p50_ms: number;
  lag_p99_ms: number;
  cpu_percent: number;
  rss_mb_per_call: number;
  generator_late_p99_ms: number;
  unseen_share: number;
  left: Record<string, number>;
  top: string[];
}

/** How loads are run. */
export interface LoadOptions {
  seconds: number;
  counts?: number[];
  profile: boolean;
  /** Options of V8 for the process under measurement. */ v8: readonly string[];
  say(text: string): void;
  /** Another version's folder, whose service runs. */
  tree?: string;
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
const tenths = (n: number): number => Math.round(n * 10) / 10;
const hundredths = (n: number): number => Math.round(n * 100) / 100;

/** One call: the caller speaks every eight seconds, once the agent has fallen silent. */
export async function converse({ caller }: Call, n: number, until: number, answers: number[]): Promise<void> {
  const said = words(CALLER_SAYS);
  await pause(spread(n) * PERIOD_MS);
  for (let next = performance.now(); performance.now() < until; next = Math.max(next + PERIOD_MS, performance.now())) {
    await pause(Math.max(0, next - performance.now()));
    await caller.silentFor(0);
    if (performance.now() >= until) return;
    const { end } = await caller.say(said);
    const answered = await Promise.race([caller.firstFrame(end), pause(PERIOD_MS)]);
    if (answered === undefined) {
      answers.push(PERIOD_MS);
      continue;
    }
    answers.push(answered - end);
  }
}

/** What is open now and was not before, by kind. */
export function leftOf(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after)
      .map(([kind, count]) => [kind, count - (before[kind] ?? 0)] as const)
      .filter(([, more]) => more > 0),
  );
}

/** Waits until nothing more is open than was before, within a bound. */
async function settled(
  talker: ConversationProcess,
  models: StubModels,
  before: Measured,
): Promise<Record<string, number>> {
  let left: Record<string, number> = {};
  for (const end = performance.now() + LET_GO_MS; performance.now() < end; await pause(POLL_MS)) {
    models.closeIdle();
    left = leftOf(before.open, (await talker.measure()).open);
    if (Object.keys(left).length === 0) return left;
  }
  return left;
}

/** Calls that are answered, talk for a turn and hang up all at once, as those that are measured do. */
async function rehearse(
  talker: ConversationProcess,
  template: TemplateRecord,
  ticker: FrameTicker,
  count: number,
): Promise<void> {
  const calls = await callsOf(talker, template, ticker, count, {
    listens: false,
    pause_ms: ANSWERED_EVERY_MS,
  });
  await Promise.all(calls.map((call, n) => converse(call, n, performance.now() + PERIOD_MS, [])));
  await hangUp(talker, calls);
}

/** Hangs up, and waits until the calls are settled. */
export async function hangUp(talker: ConversationProcess, calls: readonly Call[]): Promise<void> {
  await Promise.all(
    calls.map(async ({ caller, lead_id }) => {
      await caller.hangUp();
      await talker.settled(lead_id);
    }),
  );
}

/** What the process is like when idle: its memory after its first call, and what is open after as many as are measured, for connections to store and models are kept. */
async function idle(
  talker: ConversationProcess,
  models: StubModels,
  template: TemplateRecord,
  ticker: FrameTicker,
  count: number,
): Promise<Measured> {
  await rehearse(talker, template, ticker, 1);
  const { rss_mb } = await talker.measure();
  await rehearse(talker, template, ticker, count);
  await pause(POLL_MS);
  models.closeIdle();
  await pause(POLL_MS);
  return { ...(await talker.measure()), rss_mb };
}

async function oneStep(
  count: number,
  { seconds, profile, v8, tree }: LoadOptions,
  models: StubModels,
): Promise<LoadStep> {
  const profiles = profile ? mkdtempSync(join(tmpdir(), "callagent-bench-")) : undefined;
  const talker = await startConversationProcess({
    models: models.url,
    processor: PROCESSOR,
    v8,
    ...(tree === undefined ? {} : { tree }),
    ...(profiles === undefined ? {} : { profiles }),
  });
  const ticker = frameTicker();
  const template = endlessTemplate([{ name: "talk", prompt: "Write down what they say.", functions: [] }]);
  await talker.template(template);
  const before = await idle(talker, models, template, ticker, count);
  const calls = await callsOf(talker, template, ticker, count, {
    listens: false,
    pause_ms: ANSWERED_EVERY_MS,
  });
  await talker.measure();
  ticker.late();
  const answers: number[] = [];
  const until = performance.now() + seconds * 1000;
  const talking = Promise.all(calls.map((call, n) => converse(call, n, until, answers)));
  await pause(seconds * 1000);
  const measured = await talker.measure();
  const generator = ticker.late();
  await talking;
  await hangUp(talker, calls);
  const left = await settled(talker, models, before);
  await talker.stop();
  const late = calls.flatMap(({ caller }) => caller.arrivals.lateness());
  const sum = (of: (call: Call) => number): number => calls.reduce((all, call) => all + of(call), 0);
  const top = profiles === undefined ? [] : profileOf(profiles);
  return {
    calls: count,
    seconds,
    frames: late.length,
    late_p50_ms: tenths(median(late)),
    late_p99_ms: tenths(quantile(late, 0.99)),
    late_max_ms: tenths(quantile(late, 1)),
    holes: sum(({ caller }) => caller.arrivals.holes().length),
    answers_p50_ms: tenths(median(answers)),
    answers_p99_ms: tenths(quantile(answers, 0.99)),
    talked_share: hundredths(sum(({ caller }) => caller.played_ms) / sum(({ caller }) => caller.lived_ms)),
    lag_p50_ms: tenths(measured.lag_p50_ms),
    lag_p99_ms: tenths(measured.lag_p99_ms),
    cpu_percent: tenths(measured.cpu_percent),
    rss_mb_per_call: hundredths((measured.rss_mb - before.rss_mb) / count),
    generator_late_p99_ms: tenths(quantile(generator, 0.99)),
    unseen_share: hundredths(sum(({ caller }) => caller.arrivals.unseen) / Math.max(1, late.length)),
    left,
    top,
  };
}

function profileOf(folder: string): string[] {
  const [file] = readdirSync(folder).filter((name) => name.endsWith(".cpuprofile"));
  const profile =
    file === undefined ? null : (JSON.parse(readFileSync(join(folder, file), "utf8")) as Parameters<typeof topOf>[0]);
  rmSync(folder, { recursive: true, force: true });
  return profile === null ? [] : [...topOf(profile), "by function:", ...topFunctions(profile)];
}

function lineOf(s: LoadStep): string {
  const left = Object.entries(s.left)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(", ");
  return [
    `${String(s.calls).padStart(4)} calls, ${s.seconds} s: frames late p50 ${s.late_p50_ms}  p99 ${s.late_p99_ms}  max ${s.late_max_ms} ms (n ${s.frames}), holes ${s.holes}; ` +
      `loop lag p50 ${s.lag_p50_ms}  p99 ${s.lag_p99_ms} ms; CPU ${s.cpu_percent} % of a core; ${s.rss_mb_per_call} MB a call`,
    `            end of speech -> first frame p50 ${s.answers_p50_ms}  p99 ${s.answers_p99_ms} ms; the agent talked ${Math.round(s.talked_share * 100)} % of the time; ` +
      `the generator's own lag p99 ${s.generator_late_p99_ms} ms, it missed ${Math.round(s.unseen_share * 100)} % of the frames' moments; left open: ${left === "" ? "nothing" : left}`,
    ...s.top.map((line) => `            ${line}`),
  ].join("\n");
}

/** More and more calls at once in one process on one processor. */
export async function benchLoad(options: LoadOptions): Promise<LoadStep[]> {
  const { say } = options;
  const apart = pinThisProcess(PROCESSOR);
  const others = apart
    ? "the callers, the models and the store on the others"
    : "everything else where it likes (taskset is not here)";
  say(
    `\nload: the process of the talks on processor ${PROCESSOR} alone, ${others}; models of one line each, in the callers' process; ${busy()}`,
  );
  const models = await startStubModels();
  const steps: LoadStep[] = [];
  for (const count of options.counts ?? COUNTS) {
    const timed = await oneStep(count, { ...options, profile: false }, models);
    // the profiler takes its part of the processor: it has the same load once more
    const step = options.profile ? { ...timed, top: (await oneStep(count, options, models)).top } : timed;
    steps.push(step);
    say(lineOf(step));
  }
  await models.close();
  const asked = steps.find(({ calls }) => calls === ASKED_AT);
  const met = (is: boolean): string => (is ? "met" : "MISSED");
  if (asked) {
    say(
      `      asked at ${ASKED_AT}: late p99 <= ${ASKED_LATE_MS} ms: ${met(asked.late_p99_ms <= ASKED_LATE_MS)}; <= ${ASKED_RSS_MB} MB a call: ${met(asked.rss_mb_per_call <= ASKED_RSS_MB)}; ` +
        `nothing left open: ${met(Object.keys(asked.left).length === 0)}`,
    );
  }
  return steps;
}

/** Keeps this process, and those it starts, away from a processor. False where the machine has no other, or no taskset. */
export function pinThisProcess(away: number): boolean {
  const others = Array.from({ length: availableParallelism() }, (_, n) => n).filter((n) => n !== away);
  if (others.length === 0) return false;
  try {
    execFileSync("taskset", ["-a", "-c", "-p", others.join(","), String(process.pid)], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
