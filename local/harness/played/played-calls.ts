import { between, chance, choose } from "../../carriers/exchange/seeded-random.ts";
import {
  endedByAgent,
  noFacts,
  type AttemptFacts,
  type Evaluation,
} from "../../../shared/contracts/records/attempt.ts";

/** What becomes of an attempt. `released`, `aborted`: nothing is dialled, and the lead waits; the latter until somebody aborts it. */
export const WAYS = ["busy", "no_answer", "talk", "released", "aborted"] as const;
export type Way = (typeof WAYS)[number];

/** Of twenty attempts: most lines are busy, which makes a second attempt; one in five has a whole conversation. */
const OF_TWENTY: readonly [Way, number][] = [
  ["busy", 9],
  ["no_answer", 5],
  ["talk", 4],
  ["released", 1],
  ["aborted", 1],
];
const ONE_EACH = OF_TWENTY.flatMap(([way, count]) => Array.from({ length: count }, () => way));

/** The way of an attempt, by chance that the seed repeats; nobody is released for ever. */
export function wayOf(seed: string, phone_number: string, claim_no: number): Way {
  const way = choose(ONE_EACH, seed, "way", phone_number, claim_no);
  return claim_no > 1 && (way === "released" || way === "aborted") ? "busy" : way;
}

const CALLED_AGAIN = 0.3;
/** How often a lead that was not reached is called again. */
export const retriesOf = (seed: string, phone_number: string): number =>
  chance(seed, "again", phone_number) < CALLED_AGAIN ? 1 : 0;

const SHORT = 0.3;
/** Whether a call is answered or over so soon that its lead is not told of it before. */
export const isShort = (seed: string, ref: string): boolean => chance(seed, "short", ref) < SHORT;

const EVALUATION: Evaluation = { trace_scores: { politeness: 8 }, summary: "They agreed.", errors: [] };
const EVALUATED = 0.5;

/** What of a conversation comes with its end, and what later. */
export interface Evaluated {
  now: Evaluation | null;
  late: Evaluation | null;
}

/** Half of the evaluations come with the end of their attempt, the others later. */
export function evaluationOf(seed: string, ref: string): Evaluated {
  const isLate = chance(seed, "evaluated", ref) < EVALUATED;
  return isLate ? { now: null, late: EVALUATION } : { now: EVALUATION, late: null };
}

/** The facts of an attempt that was dialled, as a dialer and a conversation write them down. */
export function factsOf(way: Way, call_id: string, evaluation: Evaluation | null): AttemptFacts {
  const at = new Date().toISOString();
  if (way !== "talk")
    return { ...noFacts(way === "busy" ? "busy" : "no_answer"), call_id, started_at: at, ended_at: at };
  return {
    ...noFacts("completed"),
    call_id,
    started_at: at,
    answered_at: at,
    ended_at: at,
    talk: endedByAgent("confirmed"),
    ...(evaluation === null ? {} : { evaluation }),
  };
}

const CENT = 0.01;
/** What a call costs. */
export const costOf = (seed: string, ref: string): number => Math.ceil(between(1, 9, seed, "cost", ref)) * CENT;
