import { parseArgs } from "node:util";
import { UserError, errorMessage } from "./user-error.ts";

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

/** What the command says of itself. */
export const USAGE = `npm run converse -- <template> [script …] [options]
Holds talks of a template as text, with the brain of the conversation service and no telephone, and checks how they go. Time is virtual: silence needs no waiting.

  <template>           a file (.json) as it is sent to POST /templates or answered by GET, or a sample: order-confirmation, appointment-reminder;
                       may be left out where the scripts name theirs (template: …)
  <script>             files (.yaml, .yml), folders of them, or patterns with *; without any you type as the customer
  --real               ask the model of OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL; default: the simulator, which needs nothing
  --record <file>      write what the model answers to a file
  --answers <file>     ask no model: answer from a recorded file; a question it does not hold fails the script
  --payload <file>     the lead's payload for a talk at the keyboard, JSON or YAML (default: made up from payload_schema)
  --trace <file>       write every event and what it led to, as JSON; the same script gives the same bytes
  --json               print results for machines

Exit code 0: all expectations are met; 1: some are not; 2: a file or an option is not usable.`;

const OPTIONS = {
  real: { type: "boolean", default: false },
  record: { type: "string" },
  answers: { type: "string" },
  payload: { type: "string" },
  trace: { type: "string" },
  json: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UserError(`${errorMessage(error).split(". ")[0]}. See npm run converse -- --help.`);
  }
}

const isScript = (name: string): boolean => /\.ya?ml$/i.test(name) || name.includes("*") || /[/\\]$/.test(name);

/** The command line; null: help was asked for. `isFolder` tells folders of scripts from names of templates. UserError. */
export function readArguments(argv: readonly string[], isFolder: (name: string) => boolean): Arguments | null {
  const { values: v, positionals } = parsed(argv);
  if (v.help) return null;
  const scripts = positionals.filter((name) => isScript(name) || isFolder(name));
  const [template = null, another] = positionals.filter((name) => !scripts.includes(name));
  if (another !== undefined)
    throw new UserError(`One template at a time: ${template} and ${another} were given. Scripts end with .yaml.`);
  if (template === null && scripts.length === 0)
    throw new UserError(
      "Name a template: npm run converse -- order-confirmation talks with a sample. See npm run converse -- --help.",
    );
  if (v.answers !== undefined && (v.real || v.record !== undefined))
    throw new UserError("--answers asks no model, so it goes neither with --real nor with --record.");
  if (v.payload !== undefined && scripts.length > 0)
    throw new UserError("--payload is for a talk at the keyboard; a script holds its own payload.");
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
