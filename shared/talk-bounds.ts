import { newestFitting, smallestFitting } from "./batching.ts";
import type { ConversationFacts } from "./contracts/records/attempt.ts";
import { jsonBytes } from "./json.ts";

/** Most bytes of what a conversation leaves behind, each part as JSON. */
export const TALK_BYTES = { transcription: 128 * 1024, variables: 64 * 1024, errors: 16 * 1024 } as const;
/** Nodes of a traversal that are kept, the latest; each name has 64 characters at most. */
const MAX_TRAVERSAL = 500;
/** Names that a marker lists. */
const MAX_NAMED = 20;
const MAX_NAME_CHARS = 64;

/** What was cut, as it stands among the errors of the conversation (metaData.errors): never a word of what was said. */
export type CutMarker =
  | { code: "TRANSCRIPT_CUT"; node: string; lines: number }
  | { code: "VARIABLES_CUT"; node: string; variables: string[] };

/** A transcript's latest lines, as many as fit; `cut` null: all do. */
export function boundedTranscript<Line>(
  lines: readonly Line[],
  node: string,
  bytes: number = TALK_BYTES.transcription,
): { lines: Line[]; cut: CutMarker | null } {
  const kept = newestFitting(lines, bytes);
  const gone = lines.length - kept.length;
  return { lines: kept, cut: gone === 0 ? null : { code: "TRANSCRIPT_CUT", node, lines: gone } };
}

function boundedVariables(
  variables: Record<string, unknown>,
  node: string,
): { kept: Record<string, unknown>; cut: CutMarker | null } {
  const { kept, left } = smallestFitting(variables, TALK_BYTES.variables);
  const names = left.slice(0, MAX_NAMED).map((name) => name.slice(0, MAX_NAME_CHARS));
  return { kept, cut: left.length === 0 ? null : { code: "VARIABLES_CUT", node, variables: names } };
}

/**
 * The facts of a conversation within their bounds: of the transcript the oldest lines go, of the variables the largest, and the errors say so.
 * Facts within the bounds stay the same.
 */
export function boundedTalk(facts: ConversationFacts): ConversationFacts {
  const node = facts.node_traversal.at(-1) ?? "";
  const transcript = boundedTranscript(facts.transcription, node);
  const variables = boundedVariables(facts.variables, node);
  const cuts = [transcript.cut, variables.cut].filter((cut) => cut !== null);
  const room = TALK_BYTES.errors - jsonBytes(cuts);
  return {
    ...facts,
    transcription: transcript.lines,
    variables: variables.kept,
    node_traversal: facts.node_traversal.slice(-MAX_TRAVERSAL),
    errors: [...newestFitting(facts.errors, room), ...cuts],
  };
}

/** What was cut from facts by `boundedTalk`, for the log. */
export const cutsIn = ({ errors }: Pick<ConversationFacts, "errors">): unknown[] =>
  errors.filter(({ code }) => code === "TRANSCRIPT_CUT" || code === "VARIABLES_CUT");
