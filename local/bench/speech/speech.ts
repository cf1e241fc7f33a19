import { cpus } from "node:os";
import { UsageError } from "../../../shared/process/command-line.ts";
import type { AskedBench } from "../../commands.ts";
import { startSimulatedModels, stopModels } from "../voice/answered-calls.ts";
import { busy } from "../voice/result-rows.ts";
import {
  DISTURBANCES,
  messageUnder,
  silenceUnder,
  SILENCES,
  type DisturbedResult,
  type SilentResult,
} from "./agent-monologues.ts";
import { ANSWER_CONDITIONS, answersUnder, type AnswerResult } from "./answered-turns.ts";
import { benchLines, severalAtOnce, type BenchLines, type BenchLinesOptions } from "./bench-lines.ts";
import { lineOfSplits } from "./turn-split.ts";
import { afterthought, helloAfter, HELLOS, PAUSES } from "./first-last-words.ts";

const FIRST_AND_LAST = ["hello", "afterthought"];
/** Calls that are held at once where each is one condition. */
const AT_ONCE = 4;
/** A customer who says nothing is asked twice and dismissed after four seconds each, and what is said in between. */
const SILENT_MS = 26_000;
/** A seed of the bench is so many of its noises. */
const SEEDS = 100;

const named = (names: readonly string[], name: string): boolean => names.includes(name);
const namesOf = (all: readonly { name: string }[]): string[] => all.map(({ name }) => name);
const ALL = [...namesOf(ANSWER_CONDITIONS), ...namesOf(DISTURBANCES), ...namesOf(SILENCES), ...FIRST_AND_LAST];
const GROUPS: Record<string, readonly string[]> = {
  answers: namesOf(ANSWER_CONDITIONS),
  over: namesOf(DISTURBANCES),
  silent: namesOf(SILENCES),
  short: ["clean", "white-5", "over-street-22", "silent-white-22"],
};

interface Row {
  line: string;
  /** Said below the table. */
  note?: string;
  /** Null: nothing is asked of it. */
  met: boolean | null;
}

const verdict = (met: boolean | null): string => (met === null ? "" : met ? "  met" : "  MISSED");

function answersRow(r: AnswerResult, asked: number | undefined): Row {
  const met = asked === undefined ? null : r.answered >= asked;
  const wer = Math.round((100 * r.word_errors) / Math.max(1, r.words));
  return {
    met,
    note: lineOfSplits(r.name, r.splits),
    line: `| ${r.name} | ${r.answered}/${r.of} | ${r.p50_ms} / ${r.p95_ms} | ${r.onsets_cut} / ${r.ends_cut} | ${r.bounded} | ${r.extra_turns} | ${wer} | ${(r.transcriptions / r.of).toFixed(2)} |${verdict(met)}`,
  };
}

function disturbedRow(r: DisturbedResult, asked: boolean): Row {
  const met = asked ? r.said >= r.words && r.false_turns === 0 : null;
  return {
    met,
    line: `| ${r.name} | ${r.said}/${r.words} | ${r.clears} | ${r.holes_ms} | ${r.false_turns} | ${r.asked_again} |${verdict(met)}`,
  };
}

function silentRow(r: SilentResult): Row {
  const met = r.ended_ms !== null && r.ended_ms <= SILENT_MS && r.asked_again === 2 && r.false_turns === 0;
  return { met, line: `| ${r.name} | ${r.asked_again} | ${r.ended_ms ?? "never"} | ${r.false_turns} |${verdict(met)}` };
}

/** Runs one condition; one that could not be run is missed, and the others go on. */
async function row(name: string, tell: (row: Row) => void, run: () => Promise<Row>): Promise<void> {
  tell(
    await run().catch((error: unknown) => ({
      line: `| ${name} | could not be run: ${error instanceof Error ? error.message : String(error)} |  MISSED`,
      met: false,
    })),
  );
}

async function answers(bench: BenchLines, names: readonly string[], tell: (row: Row) => void): Promise<void> {
  const chosen = ANSWER_CONDITIONS.filter(({ name }) => named(names, name));
  const notes: string[] = [];
  if (chosen.length > 0)
    console.log(
      "\n| condition | answered | p50 / p95 ms | onset / end cut | bounded | extra turns | word errors % | transcriptions |\n|---|---|---|---|---|---|---|---|",
    );
  for (const condition of chosen)
    await row(condition.name, tell, async () => {
      const made = answersRow(await answersUnder(bench, condition), condition.asked);
      notes.push(made.note ?? "");
      return made;
    });
  if (notes.length > 0) console.log(`\n${notes.join("\n")}`);
}

async function disturbances(bench: BenchLines, names: readonly string[], tell: (row: Row) => void): Promise<void> {
  const chosen = DISTURBANCES.filter(({ name }) => named(names, name));
  if (chosen.length > 0)
    console.log(
      "\n| over the agent | words said | clears | holes ms | false turns | asked afterwards |\n|---|---|---|---|---|---|",
    );
  await severalAtOnce(chosen, AT_ONCE, (one) =>
    row(one.name, tell, async () => disturbedRow(await messageUnder(bench, one), one.asked)),
  );
  const silences = SILENCES.filter(({ name }) => named(names, name));
  if (silences.length > 0)
    console.log("\n| silent customer | asked again | ended after ms | false turns |\n|---|---|---|---|");
  await severalAtOnce(silences, AT_ONCE, (one) =>
    row(one.name, tell, async () => silentRow(await silenceUnder(bench, one))),
  );
}

async function firstWords(bench: BenchLines, names: readonly string[], tell: (row: Row) => void): Promise<void> {
  if (!named(names, "hello")) return;
  console.log('\n| "Hello?" after ms | heard of the greeting % |\n|---|---|');
  await severalAtOnce(HELLOS, AT_ONCE, (after_ms) =>
    row(`hello ${after_ms}`, tell, async () => {
      const { heard_percent } = await helloAfter(bench, after_ms);
      const met = heard_percent >= 97;
      return { met, line: `| ${after_ms} | ${heard_percent} |${verdict(met)}` };
    }),
  );
}

async function lastWords(
  { slow, seed, told, env, tree }: Pick<BenchLinesOptions, "slow" | "seed" | "told" | "env" | "tree">,
  names: readonly string[],
  tell: (row: Row) => void,
): Promise<void> {
  if (!named(names, "afterthought")) return;
  const simulator = await startSimulatedModels({ stt_ms: 0, first_token_ms: 150 * slow, first_audio_ms: 0 });
  const bench = await benchLines({ slow, seed, told, chat: simulator.url, ...(env ? { env } : {}), tree });
  console.log('\n| "Yes." pause "Friday would be better." ms | voice | decided |\n|---|---|---|');
  try {
    await severalAtOnce(PAUSES, AT_ONCE, (one) =>
      row(`afterthought ${one.pause_ms}`, tell, async () => {
        const { decided, pause_ms, voice } = await afterthought(bench, one);
        const met = decided === "rescheduled";
        return { met, line: `| ${pause_ms} | ${voice} | ${decided ?? "nothing"} |${verdict(met)}` };
      }),
    );
  } finally {
    await bench.stop();
    await stopModels(simulator);
  }
}

/** Conditions by name, groups of them, or all. */
function conditionsOf(parts: readonly string[]): string[] {
  const known = [...Object.keys(GROUPS), ...ALL];
  const strange = parts.find((name) => !known.includes(name));
  if (strange !== undefined) throw new UsageError(`There is no condition ${strange}; there is ${known.join(", ")}.`);
  return parts.length === 0 ? [...ALL] : parts.flatMap((name) => GROUPS[name] ?? [name]);
}

/**
 * `npm run bench -- speech [condition …] [--slow=2] [--seed=1] [--phantom] [--told] [--pitch] [--tree=folder]`: conversations in real speech, over a carrier's stream, on lines that are as lines are. Speech is flite's and
 * espeak-ng's, recognition pocketsphinx'. `--slow`: a second of the lines takes so many, for a machine that is busy. `--seed`: other noises. `--phantom`: the recogniser writes "Thank you." for
 * sound without words, as some do. `--told`: the recogniser makes no errors, as it is told what callers say. `--pitch`: voices are told by their pitch, not by the model. `--tree`: the
 * service of another version runs, from the folder of its sources. Exit status 1 where something that is asked for is missed.
 */
export async function benchSpeech({
  values: { slow, seed, phantom, told, pitch, tree },
  parts,
}: AskedBench): Promise<void> {
  const names = conditionsOf(parts);
  const env = { VOICE_DETECTION: pitch ? "pitch" : "silero" };
  console.log(
    `speech: node ${process.versions.node}, ${cpus().length} processors, ${busy()}; a second of the lines takes ${slow}, seed ${seed}`,
  );
  let missed = 0;
  const tell = ({ line, met }: Row): void => {
    console.log(line);
    if (met === false) missed++;
  };
  const bench = await benchLines({ slow, seed: SEEDS * seed, phantom: phantom ? "Thank you." : "", told, env, tree });
  try {
    await answers(bench, names, tell);
    await disturbances(bench, names, tell);
    await firstWords(bench, names, tell);
  } finally {
    await bench.stop();
  }
  await lastWords({ slow, seed: SEEDS * seed, told, env, tree }, names, tell);
  console.log(`\n${missed} asked for and missed; ${busy()}`);
  if (missed > 0) process.exitCode = 1;
}
