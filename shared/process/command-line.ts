import { parseArgs } from "node:util";

/** The manners of every command of package.json: `--help`, options by name, errors in one line, and the exit status 0, 1 or 2. */

/** An error that the person at the keyboard can correct: its message is shown without a stack. Exit status 1. */
export class UserError extends Error {
  readonly status: 1 | 2 = 1;
}

/** A command that was called wrongly, or with a file that cannot be used. Exit status 2. */
export class UsageError extends UserError {
  override readonly status = 2;
}

/** An option `--name`. Bounds of a number are inclusive. */
export type Option = Readonly<{ about: string }> &
  (
    | Readonly<{ kind: "flag" }>
    | Readonly<{ kind: "text"; value: string; default?: string; needed?: true; many?: true }>
    | Readonly<{
        kind: "number";
        value: string;
        min: number;
        max: number;
        whole?: true;
        default?: number;
        needed?: true;
      }>
    | Readonly<{ kind: "enum"; values: readonly string[]; default?: string }>
  );

/** What stands on the command line without a name. Only the last may be `many`. `values`: all that are allowed. */
export type Operand = Readonly<{ name: string; needed?: true; many?: true; values?: readonly string[] }>;

/** A command as data. `name`: its script in package.json, or its name within `program`. `notes`: what its help says below the options. */
export interface Command {
  readonly name: string;
  /** The program that the command is a part of; absent: npm runs it as a script. */
  readonly program?: string;
  readonly about: string;
  readonly operands?: readonly Operand[];
  readonly options: Readonly<Record<string, Option>>;
  readonly notes?: string;
}

type Known<O extends Option> = O extends { default: string | number } | { needed: true } ? never : undefined;
type ValueOf<O extends Option> = O extends { kind: "flag" }
  ? boolean
  : O extends { kind: "number" }
    ? number | Known<O>
    : O extends { kind: "enum"; values: readonly (infer V)[] }
      ? V | Known<O>
      : O extends { many: true }
        ? string[]
        : string | Known<O>;

/** The values of a command's options, by their names. */
export type ValuesOf<C extends Command> = { readonly [N in keyof C["options"]]: ValueOf<C["options"][N]> };

/** A command line that was read. */
export interface Asked<C extends Command> {
  readonly values: ValuesOf<C>;
  readonly operands: readonly string[];
}

/** A command with the types of its options. */
export const command = <const C extends Command>(one: C): C => one;

const HELP = "--help";
/** A name this far from what was typed is suggested: a third of its letters. */
const NEAR = 1 / 3;

/** Letters to change, add, drop or swap with their neighbour to come from one word to the other. */
export function editDistance(one: string, other: string): number {
  const rows = Array.from({ length: one.length + 1 }, (_, i) =>
    Array.from({ length: other.length + 1 }, (__, j) => (i === 0 ? j : j === 0 ? i : 0)),
  );
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Infinity;
  for (let i = 1; i <= one.length; i++)
    for (let j = 1; j <= other.length; j++) {
      const cost = one[i - 1] === other[j - 1] ? 0 : 1;
      const swapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1] ? at(i - 2, j - 2) + 1 : Infinity;
      (rows[i] ?? [])[j] = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + cost, swapped);
    }
  return at(one.length, other.length);
}

/** The name that was probably meant; null: none is near. */
export function nearest(typed: string, names: readonly string[]): string | null {
  const [best] = names
    .map((name) => ({ name, far: name.startsWith(typed) ? 1 : editDistance(typed, name) }))
    .filter(({ name, far }) => far <= Math.max(1, Math.floor(name.length * NEAR)))
    .sort((a, b) => a.far - b.far);
  return best?.name ?? null;
}

const didYouMean = (typed: string, names: readonly string[], dashes = ""): string => {
  const meant = nearest(typed, names);
  return meant === null ? "" : `; did you mean ${dashes}${meant}?`;
};

/** How a person types the command. */
export const invocation = ({ name, program }: Command): string =>
  program !== undefined ? `${program} ${name}` : /^(?:start|test)$/.test(name) ? `npm ${name}` : `npm run ${name}`;

/** How a person types the command with these words behind it. */
const typed = (of: Command, words: string): string =>
  `${invocation(of)}${of.program === undefined ? " --" : ""} ${words}`;

const wrong = (of: Command, sentence: string): UsageError =>
  new UsageError(`${sentence}${/[.?]$/.test(sentence) ? "" : "."} See ${typed(of, HELP)}.`);

const operandText = ({ name, needed, many }: Operand): string => {
  const text = many ? `${name} …` : name;
  return needed ? `<${text}>` : `[${text}]`;
};

const takes = (option: Option): string =>
  option.kind === "flag" ? "" : ` <${option.kind === "enum" ? option.values.join("|") : option.value}>`;

/** Bounds and default, in brackets. */
function limits(option: Option): string {
  const said = [
    ...(option.kind === "number" ? [`${option.min} to ${option.max}`] : []),
    ...("default" in option && option.default !== undefined ? [`default ${option.default}`] : []),
  ];
  return said.length === 0 ? "" : ` (${said.join(", ")})`;
}

/** What the command says of itself. */
export function helpOf(of: Command): string {
  const rows = [
    ...Object.entries(of.options).map(([name, o]): [string, string] => [
      `--${name}${takes(o)}`,
      `${o.about}${limits(o)}`,
    ]),
    [HELP, "prints this"] as const,
  ];
  const width = Math.max(...rows.map(([left]) => left.length));
  const usage = [
    ...Object.entries(of.options).flatMap(([name, o]) => ("needed" in o && o.needed ? [`--${name}${takes(o)}`] : [])),
    ...(of.operands ?? []).map(operandText),
    "[options]",
  ];
  return [
    typed(of, usage.join(" ")),
    of.about,
    "",
    ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`),
    ...(of.notes === undefined ? [] : ["", of.notes]),
    "",
    "Exit status 0: done; 1: it failed; 2: it was called wrongly.",
  ].join("\n");
}

const DECIMAL = /^-?\d+(?:\.\d+)?$/;

function valueOf(of: Command, name: string, option: Option, text: string): string | number {
  if (option.kind === "number") {
    const { min, max, whole } = option;
    const value = Number(text);
    if (!DECIMAL.test(text) || value < min || value > max || (whole && !Number.isInteger(value)))
      throw wrong(of, `--${name} must be a ${whole ? "whole number" : "number"} from ${min} to ${max}, not "${text}"`);
    return value;
  }
  if (option.kind === "enum" && !option.values.includes(text))
    throw wrong(of, `--${name} must be one of ${option.values.join(", ")}, not "${text}"`);
  return text;
}

/** Reads what was typed for one option. */
function given(of: Command, name: string, option: Option, texts: readonly string[]): unknown {
  if (option.kind === "flag") return texts.length > 0;
  const read = texts.map((text) => valueOf(of, name, option, text));
  if (option.kind === "text" && option.many) return read;
  const value = read.at(-1) ?? ("default" in option ? option.default : undefined);
  if (value === undefined && "needed" in option && option.needed) throw wrong(of, `--${name} is missing`);
  return value;
}

function checkOperands(of: Command, operands: readonly string[]): void {
  const known = of.operands ?? [];
  const last = known.at(-1);
  const extra = operands[known.length];
  if (extra !== undefined && !last?.many)
    throw wrong(
      of,
      known.length === 0
        ? `There is no argument "${extra}": only options are taken`
        : `"${extra}" is one argument too many`,
    );
  for (const [at, text] of operands.entries()) {
    const { name = "", values } = known[at] ?? last ?? {};
    if (values !== undefined && !values.includes(text))
      throw wrong(of, `There is no ${name} ${text}${didYouMean(text, values) || `; there is ${values.join(", ")}`}`);
  }
  const missing = known.find(({ needed }, at) => needed && operands[at] === undefined);
  if (missing !== undefined) {
    const which = missing.values === undefined ? "" : `: one of ${missing.values.join(", ")}`;
    throw wrong(of, `<${missing.name}> is missing${which}`);
  }
}

/** Reads a command line; null: it asks for help. UsageError. */
export function readCommand<C extends Command>(of: C, argv: readonly string[]): Asked<C> | null {
  const options: readonly (readonly [string, Option])[] = Object.entries(of.options);
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(options.map(([name, o]) => [name, { type: o.kind === "flag" ? "boolean" : "string" }])),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const texts = new Map<string, string[]>();
  const operands: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") operands.push(token.value);
    if (token.kind !== "option") continue;
    if (token.rawName === HELP || token.rawName === "-h") return null;
    const option = of.options[token.name];
    if (option === undefined || !token.rawName.startsWith("--"))
      throw wrong(of, `There is no option ${token.rawName}${didYouMean(token.name, Object.keys(of.options), "--")}`);
    const isValue = token.value !== undefined && (token.inlineValue || !token.value.startsWith("--"));
    if (option.kind !== "flag" && !isValue) throw wrong(of, `--${token.name} needs a value:${takes(option)}`);
    if (option.kind === "flag" && token.inlineValue) throw wrong(of, `--${token.name} takes no value`);
    texts.set(token.name, [...(texts.get(token.name) ?? []), token.value ?? ""]);
  }
  checkOperands(of, operands);
  const values = Object.fromEntries(options.map(([name, o]) => [name, given(of, name, o, texts.get(name) ?? [])]));
  // each value was read by the kind of its option
  return { values: values as ValuesOf<C>, operands };
}

/** A file that cannot be read, a port that is taken: the system's sentence is enough. */
const isSystemError = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && "syscall" in error;

/** An error as the person sees it, and the exit status that goes with it: a stack only for what is a defect of ours. */
export function errorSaid(error: unknown): { said: string; status: number } {
  if (error instanceof UserError) return { said: error.message, status: error.status };
  if (isSystemError(error)) return { said: error.message, status: 1 };
  return { said: error instanceof Error ? (error.stack ?? error.message) : String(error), status: 1 };
}

/** Where a command prints to, line by line. */
export interface Screen {
  out(line: string): void;
  err(line: string): void;
}

/** Reads a command line, runs the command, and prints help and errors; its exit status. What `run` gives is the status, nothing: 0 or what it set itself. */
export async function commandStatus<C extends Command>(
  of: C,
  argv: readonly string[],
  run: (asked: Asked<C>) => Promise<number | void> | number | void,
  screen: Screen,
): Promise<number> {
  try {
    const asked = readCommand(of, argv);
    if (asked !== null) return (await run(asked)) ?? Number(process.exitCode ?? 0);
    screen.out(helpOf(of));
    return 0;
  } catch (error) {
    const { said, status } = errorSaid(error);
    screen.err(said);
    return status;
  }
}

/** What is still open a second after a command failed does not keep it alive. */
const LAST_MS = 1000;

/** Runs a command as the program of this process. A reader of the output that goes away early, such as head, is no error. */
export async function runCommand<C extends Command>(
  of: C,
  run: (asked: Asked<C>) => Promise<number | void> | number | void,
): Promise<void> {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  process.exitCode = await commandStatus(of, process.argv.slice(2), run, {
    out: (line) => process.stdout.write(`${line}\n`),
    err: (line) => process.stderr.write(`${line}\n`),
  });
  if (process.exitCode !== 0) setTimeout(() => process.exit(), LAST_MS).unref();
}
