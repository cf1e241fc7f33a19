import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { PROGRAM_ENV } from "../../local/harness/program.ts";
import { cacheFolder, FOLDER_VARIABLE, lockFolder } from "../../local/real/cache-folder.ts";
import { PartError, type Part, type Running } from "../../local/real/part.ts";
import { missingFor, PARTS } from "../../local/real/parts.ts";
import { runCommand, UsageError } from "../../shared/process/command-line.ts";
import { askedOf, testReal, type Asked } from "./arguments.ts";
import { skippedLines, sumOf, type Outcome, type Step } from "./outcome.ts";
import { LEADS_VARIABLE, STEPS } from "./steps.ts";

/** `npm run test:real`: installs real servers, runs the product against them, and stops them. */
const SECOND_MS = 1000;
const NOTHING: Outcome = { passed: 0, failed: 0, skipped: [], said: "" };
const FAILED: Outcome = { ...NOTHING, failed: 1 };

let interrupted = false;
const stopAsked = new Promise<void>((resolve) => {
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => {
      interrupted = true;
      resolve();
    });
});

const cells = (part: string, step: string, began: number, said: string): string =>
  `${part.padEnd(12)} ${step.padEnd(10)} ${((performance.now() - began) / SECOND_MS).toFixed(1).padStart(7)} s   ${said}`;

/** What is done with a part in this run. */
const stepsOf = (part: Part, { short, step }: Asked): readonly Step[] =>
  (STEPS[part.name] ?? []).filter(({ isShort, name }) => (isShort || !short) && (step ?? name) === name);

/** Says before anything happens what will be installed, where, and what it takes. */
function announce(asked: Asked, folder: string): void {
  console.log(`Real servers are kept in ${folder} (${FOLDER_VARIABLE} or --dir names another folder).`);
  console.log("Nothing outside of it is changed unless a part says so; deleting it undoes everything.");
  for (const part of asked.parts) {
    const there = part.isInstalled(join(folder, part.name));
    console.log(`${part.name}: ${part.about}. ${there ? "It is installed." : `To be installed: ${part.cost}.`}`);
  }
}

/** Installs and starts a part; null, with the reason told, when it cannot be had. */
async function startPart(part: Part, folder: string): Promise<Running | null> {
  const missing = missingFor(part);
  if (missing.length > 0) {
    console.error(`${part.name} cannot run on this machine. It needs ${missing.join(", ")}.`);
    return null;
  }
  try {
    mkdirSync(folder, { recursive: true });
    const began = performance.now();
    if (!part.isInstalled(folder)) {
      await part.install(folder);
      console.log(cells(part.name, "install", began, "done"));
    }
    const starting = performance.now();
    const running = await part.start(folder);
    console.log(cells(part.name, "start", starting, running.versions));
    return running;
  } catch (error) {
    if (!(error instanceof PartError)) throw error;
    console.error(`${part.name}: ${error.message}`);
    return null;
  }
}

async function runSteps(part: Part, running: Running, asked: Asked, logs: string): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const step of stepsOf(part, asked)) {
    const began = performance.now();
    const log = join(logs, `${part.name}-${step.name}.log`);
    rmSync(log, { force: true });
    const leads = asked.leads === undefined ? {} : { [LEADS_VARIABLE]: String(asked.leads) };
    const outcome = await step.run({ ...PROGRAM_ENV, ...running.env, ...leads }, log);
    const { passed, failed, skipped } = outcome;
    console.log(cells(part.name, step.name, began, `${passed} passed, ${failed} failed, ${skipped.length} skipped`));
    if (failed > 0) console.log(`${outcome.said}\nThe whole log: ${log}`);
    outcomes.push(outcome);
    if (interrupted) {
      console.log("Interrupted: the steps that follow are left out, which counts as a failure.");
      return [...outcomes, FAILED];
    }
  }
  return outcomes;
}

/** True, with the reason told, where --able leaves a part out. */
function isLeftOut(part: Part, asked: Asked): boolean {
  const missing = asked.able ? missingFor(part) : [];
  if (missing.length > 0) console.log(`${part.name} is left out. It needs ${missing.join(", ")}.`);
  return missing.length > 0;
}

async function testAll(asked: Asked, folder: string): Promise<boolean> {
  if (asked.parts.length === 0 && asked.step !== undefined) throw new UsageError(`No part has a step ${asked.step}.`);
  const logs = join(folder, "logs");
  mkdirSync(logs, { recursive: true });
  const outcomes: Outcome[] = [];
  for (const part of asked.parts.filter((p) => !isLeftOut(p, asked))) {
    const running = await startPart(part, join(folder, part.name));
    try {
      outcomes.push(...(running === null ? [FAILED] : await runSteps(part, running, asked, logs)));
    } finally {
      await running?.stop();
    }
  }
  const { passed, failed, skipped } = sumOf(outcomes);
  for (const line of skippedLines(skipped)) console.log(line);
  console.log(`${skipped.length} skipped\n${passed} passed, ${failed} failed`);
  return failed === 0;
}

/** Starts the parts for whoever wants to use them, until Ctrl-C. */
async function serve(asked: Asked, folder: string): Promise<boolean> {
  const started: Running[] = [];
  for (const part of asked.parts) {
    const running = await startPart(part, join(folder, part.name));
    if (running !== null) started.push(running);
  }
  for (const { env } of started) for (const [name, value] of Object.entries(env)) console.log(`${name}=${value}`);
  // what is waited for is a signal alone, which keeps no process
  const awake = setInterval(() => undefined, SECOND_MS);
  if (started.length === asked.parts.length) await stopAsked;
  clearInterval(awake);
  await Promise.all(started.map((running) => running.stop()));
  return started.length === asked.parts.length;
}

const MISSING_STATUS = 3;

function tellNeeds(asked: Asked): number {
  const missing = asked.parts.map((part) => ({ part, of: missingFor(part) })).filter(({ of }) => of.length > 0);
  for (const { part, of } of missing) console.log(`${part.name} needs ${of.join(", ")}`);
  return missing.length === 0 ? 0 : MISSING_STATUS;
}

async function run(all: Asked): Promise<number> {
  if (all.does === "needs") return tellNeeds(all);
  // a part with which nothing is done is not installed either
  const used = all.parts.filter((part) => all.does === "serve" || stepsOf(part, all).length > 0);
  const asked: Asked = { ...all, parts: used };
  const folder = cacheFolder(asked.dir, process.env);
  announce(asked, folder);
  const release = lockFolder(folder);
  try {
    return (await (asked.does === "serve" ? serve : testAll)(asked, folder)) ? 0 : 1;
  } finally {
    release();
  }
}

await runCommand(testReal(PARTS), (read) =>
  run(askedOf(read, PARTS)).catch((error: unknown) => {
    if (error instanceof PartError) console.log("0 passed, 1 failed");
    throw error;
  }),
);
