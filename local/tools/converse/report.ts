import type { Check } from "./expectations.ts";
import type { Played } from "./play-script.ts";
import type { ShownLine } from "./text-conversation.ts";

const WHO_WIDTH = 10;
const MAX_COLUMN = 60;

/** A line of a conversation as it is shown. */
export const lineText = ({ who, text }: ShownLine): string =>
  who === "talk" ? `  ${" ".repeat(WHO_WIDTH)}· ${text}` : `  ${who.padEnd(WHO_WIDTH)}${text}`;

/** Expectations as a table; what came instead stands where one was not met. */
export function table(checks: readonly Check[]): string[] {
  const what = Math.max(0, ...checks.map((c) => c.what.length));
  const expected = Math.min(MAX_COLUMN, Math.max(0, ...checks.map((c) => c.expected.length)));
  return checks.map(
    (c) =>
      `  ${c.ok ? "✓" : "✗"} ${c.what.padEnd(what)}  ${c.ok ? c.expected : `${c.expected.padEnd(expected)}  but: ${c.actual}`}`,
  );
}

/** What heads a script. */
export const heading = (title: string, template: string): string => `${title} (${template})`;

const counted = (n: number, one: string): string => `${n} ${one}${n === 1 ? "" : "s"}`;

/** What heads it all up: how many scripts, which of them failed. */
export function summary(played: readonly Played[]): string[] {
  const failed = played.filter((p) => !p.passed);
  const checks = played.reduce((sum, p) => sum + p.checks.length, 0);
  return [
    ...(played.length > 1
      ? failed.map(
          (p) =>
            `✗ ${p.file}: ${p.checks
              .filter((c) => !c.ok)
              .map((c) => c.what)
              .join(", ")}`,
        )
      : []),
    `${failed.length === 0 ? "✓" : "✗"} ${counted(played.length, "script")}, ${counted(checks, "expectation")}, ${failed.length === 0 ? "all met" : `${counted(failed.length, "script")} failed`}`,
  ];
}

/** The result of a played script for programs. */
export const resultOf = ({
  file,
  title,
  template,
  passed,
  checks,
  facts,
  outcome,
  ended_by,
}: Played): Record<string, unknown> => ({
  file,
  title,
  template,
  passed,
  checks,
  path: facts.node_traversal,
  outcome,
  call_ended_by: ended_by,
  variables: facts.variables,
  errors: facts.errors,
  transcription: facts.transcription,
});

/** The trace of played scripts, in full: every event, what it led to, and what was known in the end. */
export const traceOf = (played: readonly Played[]): string =>
  `${JSON.stringify(
    played.map(({ title, template, trace, facts, outcome }) => ({ title, template, outcome, facts, steps: trace })),
    null,
    1,
  )}\n`;
