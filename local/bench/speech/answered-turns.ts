import { median, quantile } from "../figures.ts";
import { endlessTemplate } from "../voice/answered-calls.ts";
import type { BenchLines, TimedTurn } from "./bench-lines.ts";
import { mixed } from "./levels.ts";
import { noiseOf } from "./noise-corpus.ts";
import type { LineFeatures, SpeechLine } from "./speech-line.ts";
import type { Heard } from "./speech-models.ts";
import { CALLERS } from "./spoken.ts";
import { ANSWERS } from "./texts.ts";
import { splitOf, type TurnSplit } from "./turn-split.ts";
import { placeOf, wordErrors } from "./verdicts.ts";

/** A condition under which callers answer: their level in dBFS, what else is on the line, what the network does, and how many of 24 answers must be answered. */
export interface AnswerCondition {
  name: string;
  speech_db?: number;
  noise?: { kind: string; level_db: number };
  clipped?: boolean;
  network?: Pick<LineFeatures, "jitter_ms" | "loss">;
  asked?: number;
}

const SPEECH_DB = -22;
const at = (kind: string, snr: number, asked?: number): AnswerCondition => ({
  name: `${kind}-${snr}`,
  noise: { kind, level_db: SPEECH_DB - snr },
  ...(asked === undefined ? {} : { asked }),
});

/** Every condition. */
export const ANSWER_CONDITIONS: readonly AnswerCondition[] = [
  { name: "clean", asked: 23 },
  { name: "comfort", noise: { kind: "white", level_db: -50 } },
  at("white", 20),
  at("white", 10),
  at("white", 5, 22),
  at("street", 20),
  at("street", 10),
  at("street", 5, 22),
  at("babble", 20, 23),
  at("babble", 10),
  at("tv", 15, 21),
  at("music", 15),
  at("music", 5, 21),
  { name: "quiet", speech_db: -35 },
  { name: "quiet-white-10", speech_db: -35, noise: { kind: "white", level_db: -45 } },
  { name: "quiet-tv-10", speech_db: -32, noise: { kind: "tv", level_db: -42 } },
  { name: "clipped", speech_db: -6, clipped: true },
  { name: "loss-3", network: { loss: { share: 0.03, as: "missing" } } },
  { name: "loss-10-silent", network: { loss: { share: 0.1, as: "silence" } } },
  { name: "jitter-60", network: { jitter_ms: 60 } },
  { name: "jitter-120", network: { jitter_ms: 120 } },
];

/** The line is heard for so long before the first answer. */
const LEAD_IN_MS = 2000;
const PAUSE_MS = 700;
const AGENT_MS = 12_000;
/** An answer that comes later is none. */
const ANSWERED_MS = 3000;
/** Whoever is not answered goes on then. */
const GIVEN_UP_MS = 6000;
/** A word's first or last sound is soft: so much of it may be missing. */
const EDGE_MS = 40;
const LINE_NOISE_DB = -60;
const BACKGROUND_S = 40;
const SAMPLES_PER_MS = 8;

/** What came of a condition. `bounded`: turns that did not end by silence. */
export interface AnswerResult {
  name: string;
  of: number;
  answered: number;
  p50_ms: number;
  p95_ms: number;
  onsets_cut: number;
  ends_cut: number;
  bounded: number;
  extra_turns: number;
  word_errors: number;
  words: number;
  transcriptions: number;
  splits: TurnSplit[];
}

interface Told {
  /** The true end, the first frame of the answer, and the questions about its sound. */
  end: number;
  came: number | null;
  about: readonly Heard[];
  answered_ms: number | null;
  bounded: boolean;
  onset_cut: boolean;
  end_cut: boolean;
}

const clip = (pcm: Int16Array): Int16Array => pcm.map((v) => Math.max(-8000, Math.min(8000, v * 2)));

/** How one answer was understood: which of it was sent to the recogniser. */
function cutsOf(
  line: SpeechLine,
  heard: readonly Heard[],
  spoke: { onset: number; end: number },
): Pick<Told, "onset_cut" | "end_cut" | "about"> {
  const { began, frames } = line.sent;
  const from = (spoke.onset - began) * SAMPLES_PER_MS;
  const to = (spoke.end - began) * SAMPLES_PER_MS;
  const about = heard.flatMap((asked) => {
    const place = placeOf(asked.pcm, frames, frames.length);
    return place !== null && place.to > from && place.from < to ? [{ asked, place }] : [];
  });
  const places = about.map(({ place }) => place);
  if (places.length === 0) return { onset_cut: false, end_cut: false, about: [] };
  const edge = EDGE_MS * SAMPLES_PER_MS;
  return {
    onset_cut: Math.min(...places.map((p) => p.from)) > from + edge,
    end_cut: Math.max(...places.map((p) => p.to)) < to - edge,
    about: about.map(({ asked }) => asked),
  };
}

/** One caller of a condition: a voice, and what is sent and heard besides. Made before a call, for it takes the machine a while. */
interface Caller {
  answers: readonly Int16Array[];
  features: LineFeatures;
  seed: number;
}

async function callersOf({ spoken, seed: first }: BenchLines, condition: AnswerCondition): Promise<Caller[]> {
  const { noise, speech_db = SPEECH_DB, network = {} } = condition;
  const gain = 10 ** ((speech_db - SPEECH_DB) / 20);
  const callers: Caller[] = [];
  for (const [n, voice] of CALLERS.entries()) {
    const seed = first + 11 + n;
    const quiet = await noiseOf("white", LINE_NOISE_DB, BACKGROUND_S, { spoken, seed: 100 + seed });
    const background = noise
      ? mixed(quiet, await noiseOf(noise.kind, noise.level_db, BACKGROUND_S, { spoken, seed }))
      : quiet;
    const voices = await Promise.all(ANSWERS.map((text) => spoken.telephone(voice, text)));
    const loud = voices.map((pcm) => pcm.map((v) => Math.max(-32_767, Math.min(32_767, v * gain))));
    const answers = condition.clipped ? loud.map(clip) : loud;
    callers.push({ answers, features: { background, ...network }, seed });
  }
  return callers;
}

async function oneCall(
  bench: BenchLines,
  { answers, features, seed }: Caller,
): Promise<{ told: Told[]; lines: number; errors: number; words: number; splits: TurnSplit[] }> {
  const { clock, models } = bench;
  const template = endlessTemplate([{ name: "ask", prompt: "Write down what they say.", functions: [] }]);
  let timed: readonly TimedTurn[] = [];
  const { result, settled } = await bench.call(template, { features, seed }, async (line, turns) => {
    const told: Told[] = [];
    timed = turns;
    await clock.wait(LEAD_IN_MS);
    await line.answeredAfter(0, AGENT_MS);
    for (const [n, pcm] of answers.entries()) {
      await line.agentSilent(PAUSE_MS, AGENT_MS);
      const before = models.heard.length;
      const spoke = await line.say(pcm, [{ text: ANSWERS[n] ?? "", from: 0, to: pcm.length }]);
      const came = await line.answeredAfter(spoke.end, GIVEN_UP_MS);
      const bounded = turns.some((turn) => turn.at > spoke.onset && turn.end !== "silence");
      const took = came === null ? null : came - spoke.end;
      told.push({
        answered_ms: took !== null && took <= ANSWERED_MS && !bounded ? took : null,
        bounded,
        end: spoke.end,
        came,
        ...cutsOf(line, models.heard.slice(before), spoke),
      });
    }
    await line.agentSilent(PAUSE_MS, AGENT_MS);
    return told;
  });
  const said = settled.transcript.filter(({ role }) => role === "user").map(({ content }) => content);
  const { errors, words } = wordErrors(ANSWERS.join(" "), said.join(" "));
  const ours = settled.transcript.filter(({ role }) => role === "assistant").map(({ content }) => content);
  const replies = models.replies.filter(({ text }) => ours.includes(text));
  const voiced = models.said.filter(({ text }) => ours.includes(text));
  const splits = result.flatMap(({ answered_ms, end, came, about }) => {
    if (answered_ms === null || came === null) return [];
    return splitOf({ end, came, heard: about, replies, said: voiced, turns: timed }) ?? [];
  });
  return { told: result, lines: said.length, errors, words, splits };
}

/** Runs a condition: four callers at once, six answers each. */
export async function answersUnder(bench: BenchLines, condition: AnswerCondition): Promise<AnswerResult> {
  const callers = await callersOf(bench, condition);
  const calls = await Promise.all(callers.map((caller) => oneCall(bench, caller)));
  const told = calls.flatMap((call) => call.told);
  const times = told.flatMap(({ answered_ms }) => (answered_ms === null ? [] : [answered_ms]));
  const sum = (of: (call: (typeof calls)[number]) => number): number => calls.reduce((all, call) => all + of(call), 0);
  return {
    name: condition.name,
    of: told.length,
    answered: times.length,
    p50_ms: Math.round(median(times)),
    p95_ms: Math.round(quantile(times, 0.95)),
    onsets_cut: told.filter((t) => t.onset_cut).length,
    ends_cut: told.filter((t) => t.end_cut).length,
    bounded: told.filter((t) => t.bounded).length,
    extra_turns: sum(({ lines }) => Math.max(0, lines - ANSWERS.length)),
    word_errors: sum(({ errors }) => errors),
    words: sum(({ words }) => words),
    transcriptions: told.reduce((all, t) => all + t.about.length, 0),
    splits: calls.flatMap((call) => call.splits),
  };
}
