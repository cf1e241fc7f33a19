import { newestFitting } from "../../../shared/batching.ts";
import { PRE_CHECK_BYTES, type AttemptFacts, type Evaluation } from "../../../shared/contracts/records/attempt.ts";
import { isRecord, jsonBytes } from "../../../shared/json.ts";
import { boundedTalk } from "../../../shared/talk-bounds.ts";
import { callEndedBy, sourceOf } from "./outcomes.ts";

/** The results within their bound: where they are too large, of the variables they gave only the names are kept, then only the last results. */
export function boundedResults(results: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  if (jsonBytes(results) <= PRE_CHECK_BYTES.results) return [...results];
  const named = results.map((result) =>
    isRecord(result["exported"]) ? { ...result, exported: Object.keys(result["exported"]) } : result,
  );
  return newestFitting(named, PRE_CHECK_BYTES.results);
}

/** The facts of an attempt within their bounds. */
export const boundedFacts = (facts: AttemptFacts): AttemptFacts => ({
  ...facts,
  talk: facts.talk && boundedTalk(facts.talk),
  pre_check_results: boundedResults(facts.pre_check_results),
});

/** Results of pre-checks that one entry of the history keeps: a configuration has no more of them. */
const CHECKS_KEPT = 10;
/** The results as the history keeps them: of the variables they gave, the names. */
export const preCheckHistory = (results: readonly Record<string, unknown>[]): Record<string, unknown> =>
  results.length === 0
    ? {}
    : {
        pre_check_results: results.slice(0, CHECKS_KEPT).map(({ exported, ...rest }) => ({
          ...rest,
          ...(typeof exported === "object" && exported !== null ? { exported: Object.keys(exported) } : {}),
        })),
      };

/** The fields of a conversation's evaluation. */
export const evaluationFields = ({ trace_scores, summary, errors }: Evaluation): Record<string, unknown> => ({
  trace_scores,
  ...(summary === null ? {} : { "meta.summary": summary }),
  ...(errors.length === 0 ? {} : { "meta.evaluation_errors": errors }),
});

/** What the history keeps of an evaluation; nothing of the summary's text. */
export const evaluationHistory = ({ trace_scores, summary, errors }: Evaluation): Record<string, unknown> => ({
  trace_scores,
  summary: summary !== null,
  ...(errors.length === 0 ? {} : { evaluation_errors: errors.length }),
});

/** The fields of the evaluation before that a new conversation makes obsolete. */
export const outdatedFields = ({ talk, evaluation }: AttemptFacts): Record<string, 1> =>
  talk === null
    ? {}
    : {
        ...((evaluation?.summary ?? null) === null ? { "meta.summary": 1 as const } : {}),
        ...((evaluation?.errors ?? []).length === 0 ? { "meta.evaluation_errors": 1 as const } : {}),
      };

/** The fields an attempt leaves on the lead, whether it is the last one or not. Only known facts are written: facts that came early or late stay. */
export function attemptFields(facts: AttemptFacts): Record<string, unknown> {
  const { talk } = facts;
  const ended_by = callEndedBy(facts);
  return {
    ...(ended_by === null ? {} : { "meta.call_ended_by": ended_by }),
    ...(facts.ended === "not_dialled" ? {} : { "meta.hangup_source": sourceOf(facts) }),
    "meta.errors": [...(talk?.errors ?? []), ...(facts.error ? [facts.error] : [])],
    ...(talk
      ? {
          "meta.transcription": talk.transcription,
          "meta.node_traversal": talk.node_traversal,
          "meta.variables": talk.variables,
          ...(talk.do_not_call === true ? { "meta.do_not_call": true } : {}),
          trace_scores: {},
        }
      : {}),
    ...(facts.evaluation ? evaluationFields(facts.evaluation) : {}),
    ...(facts.pre_check_results.length > 0 ? { "meta.pre_check_results": facts.pre_check_results } : {}),
    ...(facts.call_id === null ? {} : { call_id: facts.call_id }),
    ...(facts.started_at === null ? {} : { call_initiated_time: new Date(facts.started_at) }),
    ...(facts.ended_at === null ? {} : { call_end_time: new Date(facts.ended_at) }),
  };
}

/** True when a person, not voicemail, answered the call. */
const answeredByPerson = (facts: AttemptFacts): boolean =>
  facts.answered_at !== null && !facts.machine && facts.talk?.machine !== true;

const secondsBetween = (from: string | null, to: string | null): number =>
  from && to ? Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000) : 0;

/** What an attempt adds to the lead's counts. `attempt_count` counts real dials only: an attempt that asked no carrier is released. */
export function countIncrements(facts: AttemptFacts): { $inc?: Record<string, number> } {
  if (facts.ended === "not_dialled") return { $inc: { attempt_count: -1 } };
  return answeredByPerson(facts)
    ? { $inc: { answered_count: 1, talk_seconds: secondsBetween(facts.answered_at, facts.ended_at) } }
    : {};
}

/** What the history keeps of an attempt's end; nothing of what was said. */
export const attemptHistory = (claim_no: number, facts: AttemptFacts, outcome: string): Record<string, unknown> => ({
  claim_no,
  outcome,
  ended: facts.ended,
  ...(facts.ended === "not_dialled" ? {} : { hangup_source: sourceOf(facts) }),
  call_id: facts.call_id,
  answered_at: facts.answered_at,
  ended_at: facts.ended_at,
  ...preCheckHistory(facts.pre_check_results),
  ...(facts.evaluation ? { evaluation: evaluationHistory(facts.evaluation) } : {}),
  talk: facts.talk && {
    turns: facts.talk.transcription.length,
    user_turns: facts.talk.user_turns,
    ended_by: facts.talk.ended_by,
    ...(facts.talk.do_not_call === true ? { do_not_call: true } : {}),
  },
});
