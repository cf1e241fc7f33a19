import { phrasesFor } from "../../../shared/phrases.ts";
import { endlessTemplate } from "../voice/answered-calls.ts";
import type { BenchLines } from "./bench-lines.ts";
import { mixed } from "./levels.ts";
import { noiseOf } from "./noise-corpus.ts";
import type { LineFeatures } from "./speech-line.ts";
import { agentOnLine } from "./spoken.ts";
import { MESSAGE } from "./texts.ts";
import { heardShare, holesMs } from "./verdicts.ts";

/** What disturbs the agent while it says a message of 87 words. `asked`: all words said, and not one turn that nobody took. */
export interface Disturbance {
  name: string;
  noise?: { kind: string; level_db: number };
  line?: Pick<LineFeatures, "echo" | "jitter_ms">;
  asked: boolean;
}

const noisy = (kind: string, level_db: number, asked = false): Disturbance => ({
  name: `over-${kind}${level_db}`,
  noise: { kind, level_db },
  asked,
});
const echo = (level_db: number, delay_ms = 180): Disturbance => ({
  name: `over-echo${level_db}${delay_ms === 180 ? "" : `-${delay_ms}`}`,
  line: { echo: { level_db, delay_ms } },
  asked: true,
});

/** Every disturbance. */
export const DISTURBANCES: readonly Disturbance[] = [
  { name: "over-nothing", asked: true },
  noisy("white", -42),
  noisy("white", -22),
  noisy("street", -32),
  noisy("street", -22, true),
  noisy("babble", -42),
  noisy("tv", -42),
  noisy("music", -40),
  noisy("music", -25),
  noisy("cough", -20, true),
  noisy("fit", -20, true),
  noisy("breath", -30),
  noisy("laughter", -22),
  noisy("baby", -20),
  noisy("siren", -18, true),
  noisy("ringing", -25, true),
  noisy("dog", -18),
  noisy("key", -13),
  noisy("nod", -22),
  echo(-14),
  echo(-20),
  echo(-20, 400),
  echo(-25),
  echo(-30),
];

/** What came of it. `asked_again`: how often a silent customer was asked afterwards. */
export interface DisturbedResult {
  name: string;
  said: number;
  words: number;
  clears: number;
  holes_ms: number;
  false_turns: number;
  asked_again: number;
}

const IDLE_SECONDS = 4;
const MESSAGE_MS = 90_000;
/** The message counts as over after so much silence: less than the customer is given. */
const OVER_MS = 2500;
const AFTERWARDS_MS = 7000;
const BACKGROUND_S = 60;
const LINE_NOISE_DB = -60;
const TEXT = MESSAGE.join(" ");
const WORDS = TEXT.split(" ").length;

/** A template whose conversation begins with the message, and asks a silent customer. */
const messageTemplate = (): ReturnType<typeof endlessTemplate> => {
  const template = endlessTemplate([{ name: "tell", say: TEXT, functions: [] }]);
  return { ...template, limits: { ...template.limits, idle_seconds: IDLE_SECONDS } };
};

/** Runs one disturbance. */
export async function messageUnder(bench: BenchLines, disturbance: Disturbance): Promise<DisturbedResult> {
  const { spoken, clock } = bench;
  const quiet = await noiseOf("white", LINE_NOISE_DB, BACKGROUND_S, { spoken, seed: bench.seed + 5 });
  const { noise, line: features = {} } = disturbance;
  const background = noise
    ? mixed(quiet, await noiseOf(noise.kind, noise.level_db, BACKGROUND_S, { spoken, seed: bench.seed + 21 }))
    : quiet;
  const reference = await agentOnLine(spoken, TEXT);
  const { result, settled } = await bench.call(
    messageTemplate(),
    { features: { background, ...features }, seed: 3 },
    async (line) => {
      await line.answeredAfter(0, MESSAGE_MS);
      await line.agentSilent(OVER_MS, MESSAGE_MS);
      const frames = [...line.heard];
      await clock.wait(AFTERWARDS_MS);
      return { frames, clears: line.clearedAt.length };
    },
  );
  const lines = settled.transcript;
  const { still_there } = phrasesFor("en-US");
  const share = heardShare(reference, result.frames);
  return {
    name: disturbance.name,
    said: Math.round(share * WORDS),
    words: WORDS,
    clears: result.clears,
    holes_ms: holesMs(result.frames, 0, result.frames.length),
    false_turns: lines.filter(({ role }) => role === "user").length,
    asked_again: lines.filter(({ role, content }) => role === "assistant" && content === still_there).length,
  };
}

/** A line on which nobody says anything: how long until the agent has asked twice and has said goodbye. */
export interface SilentResult {
  name: string;
  asked_again: number;
  ended_ms: number | null;
  false_turns: number;
}

/** Noises under which a customer is silent. */
export const SILENCES: readonly Disturbance[] = [
  { name: "silent-nothing", asked: true },
  ...[
    noisy("white", -27),
    noisy("white", -22),
    noisy("street", -27),
    noisy("street", -22),
    noisy("music", -22),
    noisy("ringing", -25),
    noisy("cough", -20),
    noisy("babble", -37),
    noisy("tv", -37),
  ].map((one) => ({ ...one, name: one.name.replace("over-", "silent-"), asked: true })),
];

const LONGEST_SILENCE_MS = 45_000;

/** Runs one silence. */
export async function silenceUnder(bench: BenchLines, { name, noise }: Disturbance): Promise<SilentResult> {
  const { spoken, clock } = bench;
  const quiet = await noiseOf("white", LINE_NOISE_DB, BACKGROUND_S, { spoken, seed: bench.seed + 6 });
  const background = noise
    ? mixed(quiet, await noiseOf(noise.kind, noise.level_db, BACKGROUND_S, { spoken, seed: bench.seed + 23 }))
    : quiet;
  const template = endlessTemplate([{ name: "ask", say: "Do you want the parcel?", functions: [] }]);
  const limited = { ...template, limits: { ...template.limits, idle_seconds: IDLE_SECONDS } };
  const { result, settled } = await bench.call(limited, { features: { background }, seed: 4 }, async (line) => {
    const began = clock.now();
    while (line.closedAt === null && clock.now() - began < LONGEST_SILENCE_MS) await clock.wait(100);
    return line.closedAt === null ? null : Math.round(line.closedAt - began);
  });
  const { still_there } = phrasesFor("en-US");
  return {
    name,
    asked_again: settled.transcript.filter(({ content }) => content === still_there).length,
    ended_ms: result,
    false_turns: settled.transcript.filter(({ role }) => role === "user").length,
  };
}
