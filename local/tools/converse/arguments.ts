import { command, UsageError, type Asked } from "../../../shared/process/command-line.ts";

/** What answers the dialogue's model requests: the simulator, the model of the OPENAI_… variables, or a file of recorded answers. */
export type ModelChoice =
  | { readonly kind: "simulator" | "real" }
  | { readonly kind: "recorded"; readonly file: string };

/** What was asked for. `scripts` empty: a conversation at the keyboard. */
export interface Arguments {
  readonly template: string | null;
  readonly scripts: readonly string[];
  readonly model: ModelChoice;
  /** File the model's answers are written to. */
  readonly record: string | null;
  readonly trace: string | null;
  readonly payload: string | null;
  readonly json: boolean;
}

/** `npm run converse`. */
export const CONVERSE = command({
  name: "converse",
  about:
    "Holds conversations of a template as text, with the dialogue manager of the conversation service and no telephone, and checks how they go. Time is virtual: silence needs no waiting.",
  operands: [{ name: "template" }, { name: "script", many: true }],
  options: {
    real: {
      kind: "flag",
      about: "asks the model of OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL, not the simulator",
    },
    record: { kind: "text", value: "file", about: "writes what the model answers to a file" },
    answers: { kind: "text", value: "file", about: "asks no model: answers from a recorded file" },
    payload: {
      kind: "text",
      value: "file",
      about: "the lead's payload at the keyboard, JSON or YAML; absent: made up from payload_schema",
    },
    trace: { kind: "text", value: "file", about: "writes every event and what it led to, as JSON" },
    json: { kind: "flag", about: "prints results for machines" },
  },
  notes: `<template>: a file (.json) as it is sent to POST /templates or answered by GET, or a sample: order-confirmation, appointment-reminder; it may be left out where scripts name theirs.
<script>: files (.yaml, .yml), folders of them, or patterns with *; without any you type as the customer.
Status 1: an expectation is not met; 2: a file or an option is not usable.`,
});

const isScript = (name: string): boolean => /\.ya?ml$/i.test(name) || name.includes("*") || /[/\\]$/.test(name);

/** What was asked for. `isFolder` tells folders of scripts from names of templates. UsageError. */
export function argumentsOf(
  { values: v, operands }: Asked<typeof CONVERSE>,
  isFolder: (name: string) => boolean,
): Arguments {
  const scripts = operands.filter((name) => isScript(name) || isFolder(name));
  const [template = null, another] = operands.filter((name) => !scripts.includes(name));
  if (another !== undefined)
    throw new UsageError(`One template at a time: ${template} and ${another} were given. Scripts end with .yaml.`);
  if (template === null && scripts.length === 0)
    throw new UsageError(
      "Name a template: npm run converse -- order-confirmation talks with a sample. See npm run converse -- --help.",
    );
  if (v.answers !== undefined && (v.real || v.record !== undefined))
    throw new UsageError("--answers asks no model, so it goes neither with --real nor with --record.");
  if (v.payload !== undefined && scripts.length > 0)
    throw new UsageError("--payload is for a talk at the keyboard; a script holds its own payload.");
  const model: ModelChoice =
    v.answers === undefined ? { kind: v.real ? "real" : "simulator" } : { kind: "recorded", file: v.answers };
  return {
    template,
    scripts,
    model,
    record: v.record ?? null,
    trace: v.trace ?? null,
    payload: v.payload ?? null,
    json: v.json,
  };
}
