import { isDeepStrictEqual } from "node:util";
import type { ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import type { Expectations } from "./script.ts";

/** One expectation and whether it was met. */
export interface Check {
  readonly what: string;
  readonly expected: string;
  readonly actual: string;
  readonly ok: boolean;
}

/** What came of a conversation. `ended_by`, `outcome`: NOT_OVER where the script ran out before the conversation did. */
export interface Result {
  readonly facts: ConversationFacts;
  readonly outcome: string;
  readonly ended_by: string;
}

/** Stands for what is only known of a conversation that has ended. */
export const NOT_OVER = "(the talk is not over)";

const said = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing"));
const road = (nodes: readonly string[]): string => (nodes.length === 0 ? "no node" : nodes.join(" → "));
const same = <T>(what: string, expected: T, actual: T, show: (value: T) => string): Check => ({
  what,
  expected: show(expected),
  actual: show(actual),
  ok: isDeepStrictEqual(expected, actual),
});

function variableChecks(expected: Record<string, unknown>, actual: Record<string, unknown>): Check[] {
  return Object.entries(expected).map(([name, value]) => {
    const now = Object.hasOwn(actual, name) ? actual[name] : undefined;
    return {
      what: `variable ${name}`,
      expected: said(value),
      actual: now === undefined ? "not set" : said(now),
      ok:
        isDeepStrictEqual(value, now) || (typeof value !== "object" && now !== undefined && said(value) === said(now)),
    };
  });
}

function transcriptChecks(
  { contains = [], not_contains = [] }: NonNullable<Expectations["transcript"]>,
  { transcription }: ConversationFacts,
): Check[] {
  const lines = transcription.map((line) => line.content);
  const lineWith = (piece: string): string | undefined =>
    lines.find((line) => line.toLowerCase().includes(piece.toLowerCase()));
  return [
    ...contains.map((piece) => ({
      what: "transcript",
      expected: `"${piece}"`,
      actual: lineWith(piece) ?? "not in it",
      ok: lineWith(piece) !== undefined,
    })),
    ...not_contains.map((piece) => ({
      what: "transcript",
      expected: `no "${piece}"`,
      actual: lineWith(piece) ?? "not in it",
      ok: lineWith(piece) === undefined,
    })),
  ];
}

/** Every expectation with what came of it. */
export function checksOf(expected: Expectations, { facts, outcome, ended_by }: Result): Check[] {
  const { path, outcome: word, call_ended_by, variables, transcript, errors } = expected;
  const codes = facts.errors.map((error) => String(error["code"]));
  return [
    ...(path === undefined ? [] : [same("path", path, facts.node_traversal, road)]),
    ...(word === undefined ? [] : [same("outcome", word, outcome, said)]),
    ...(call_ended_by === undefined ? [] : [same<string>("call_ended_by", call_ended_by, ended_by, said)]),
    ...(variables === undefined ? [] : variableChecks(variables, facts.variables)),
    ...(transcript === undefined ? [] : transcriptChecks(transcript, facts)),
    ...(errors === undefined ? [] : [same("errors", errors, codes, said)]),
  ];
}
