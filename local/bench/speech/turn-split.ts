import { median } from "../figures.ts";
import type { TimedTurn } from "./bench-lines.ts";
import type { Asked, Said } from "./speech-models.ts";

/** Where the time of an answered turn goes. Pure. */

/** The instants of an answered turn, in milliseconds since the true end of the utterance; a negative one was before it. */
export interface TurnSplit {
  /** The voice ended, to the detector; null: the service does not say so. */
  quiet: number | null;
  /** The question to the recogniser whose words were answered, and its answer. */
  asked: number;
  words: number;
  /** The turn was over; null: the service does not say so. */
  over: number | null;
  /** The question to the language model, and its first word. */
  reply_asked: number;
  reply: number;
  /** The question to the voice, and its first sound. */
  voice_asked: number;
  voice: number;
  /** The first frame on the line. */
  frame: number;
}

/** What is known of an answered turn: its true end, its first frame, the questions about its sound, and the models' answers of its call. */
export interface TurnFacts {
  end: number;
  came: number;
  heard: readonly Asked[];
  replies: readonly Said[];
  said: readonly Said[];
  turns: readonly TimedTurn[];
}

const before = <T extends Asked>(all: readonly T[], instant: number): T | undefined =>
  all
    .filter(({ answered_at }) => answered_at !== null && answered_at <= instant)
    .toSorted((a, b) => (b.answered_at ?? 0) - (a.answered_at ?? 0))[0];

/** Finds the instants; null where an answer was none of the models', such as a filler. */
export function splitOf({ end, came, heard, replies, said, turns }: TurnFacts): TurnSplit | null {
  const spoken = before(said, came);
  const reply = replies.find(({ text }) => text === spoken?.text);
  const words = reply && before(heard, reply.at);
  const turn = turns.toSorted((a, b) => Math.abs(a.at - came) - Math.abs(b.at - came))[0];
  if (!spoken || !reply || !words) return null;
  const since = (instant: number | null): number => (instant ?? came) - end;
  const { answer_ms = null, quiet_ms = null } = turn ?? {};
  const quiet = answer_ms === null ? null : since(came - answer_ms);
  return {
    quiet,
    asked: since(words.at),
    words: since(words.answered_at),
    over: quiet === null || quiet_ms === null ? null : quiet + quiet_ms,
    reply_asked: since(reply.at),
    reply: since(reply.answered_at),
    voice_asked: since(spoken.at),
    voice: since(spoken.answered_at),
    frame: since(came),
  };
}

/** The medians of the instants, in words. */
export function lineOfSplits(name: string, splits: readonly TurnSplit[]): string {
  const p50 = (of: (split: TurnSplit) => number | null): string => {
    const known = splits.map(of).filter((ms) => ms !== null);
    return known.length === 0 ? "?" : String(Math.round(median(known)));
  };
  const parts = [
    `quiet to the detector ${p50((s) => s.quiet)}`,
    `recogniser asked ${p50((s) => s.asked)}, answers ${p50((s) => s.words)} (takes ${p50((s) => s.words - s.asked)})`,
    `turn over ${p50((s) => s.over)}`,
    `language model asked ${p50((s) => s.reply_asked)}, begins ${p50((s) => s.reply)} (${p50((s) => s.reply - s.reply_asked)})`,
    `voice asked ${p50((s) => s.voice_asked)}, sounds ${p50((s) => s.voice)} (${p50((s) => s.voice - s.voice_asked)})`,
    `first frame ${p50((s) => s.frame)}`,
  ];
  return `${name}, p50 ms after the end of what was said: ${parts.join("; ")}; ${splits.length} turns`;
}
