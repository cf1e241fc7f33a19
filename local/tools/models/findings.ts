/** What asking an endpoint for one thing gave. */
export interface Finding {
  /** What was asked for: `function call`. */
  asked: string;
  /** Whether it did what a conversation needs. */
  ok: boolean;
  /** From the question to the first of it that a caller would notice, ms; null: nothing came. */
  first_ms: number | null;
  /** What came, or what was wrong and what to do. */
  said: string;
}

/** An endpoint with what it did. */
export interface Checked {
  /** What it is for: `language model`, `transcription, fallback`. */
  use: string;
  model: string;
  /** Where it is, without a key. */
  at: string;
  findings: Finding[];
}

const MS_WIDTH = 8;

const line = ({ asked, ok, first_ms, said }: Finding): string =>
  `  ${ok ? "ok   " : "FAILS"} ${asked.padEnd(14)}${(first_ms === null ? "" : `${Math.round(first_ms)} ms`).padStart(MS_WIDTH)}  ${said}`;

/** The findings for a person. */
export const findingsText = (all: readonly Checked[]): string =>
  all.map(({ use, model, at, findings }) => [`${use}: ${model} at ${at}`, ...findings.map(line)].join("\n")).join("\n");

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** Share of the words of `said` that are in `heard`, 0 to 1. */
export function wordsHeard(said: string, heard: string): number {
  const known = new Set(wordsOf(heard));
  const words = wordsOf(said);
  return words.length === 0 ? 1 : words.filter((word) => known.has(word)).length / words.length;
}

/** Letters a second of speech that is neither slowed down nor hurried: a wrong rate halves or doubles it at the least. */
const SLOWEST = 6;
const FASTEST = 30;

/** What speaks against the length of a spoken text; null: nothing. */
export function oddLength(text: string, seconds: number): string | null {
  const speed = text.length / Math.max(seconds, 0.001);
  if (speed >= SLOWEST && speed <= FASTEST) return null;
  return `${text.length} letters took ${seconds.toFixed(1)} s: that is too ${speed > FASTEST ? "fast" : "slow"} for speech; is the sample rate of the endpoint right?`;
}
