import { endedByAgent, noFacts, type AttemptFacts } from "../../../shared/contracts/records/attempt.ts";

/** How people are assumed to behave, in seconds. `spread`: a time differs from its mean by at most this part of it, up or down. */
export interface Assumptions {
  answer_rate: number;
  ring_seconds: number;
  call_seconds: number;
  ring_timeout_seconds: number;
  spread: number;
}

/** One dial: how long it held its slot, and its facts. */
export interface Dialled {
  ms: number;
  facts: AttemptFacts;
}

/** The outcome of a conversation that reached the callee. */
export const REACHED = "reached";

const MS = 1000;

/** Numbers in [0, 1) that are the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** What happens when a phone rings: the callee answers and talks, or does not until the carrier gives up. A conversation ends at `max_call_seconds`. */
export function callees(a: Assumptions, max_call_seconds: number, random: () => number): (at: number) => Dialled {
  const about = (seconds: number): number => seconds * MS * (1 + a.spread * (2 * random() - 1));
  return (at) => {
    if (random() >= a.answer_rate) return { ms: a.ring_timeout_seconds * MS, facts: noFacts("no_answer") };
    const rings = Math.min(about(a.ring_seconds), a.ring_timeout_seconds * MS);
    const talks = Math.min(about(a.call_seconds), max_call_seconds * MS);
    const ms = Math.round(rings + talks);
    return {
      ms,
      facts: {
        ...noFacts("completed"),
        answered_at: new Date(at + rings).toISOString(),
        ended_at: new Date(at + ms).toISOString(),
        talk: {
          ...endedByAgent(REACHED),
        },
      },
    };
  };
}
