import type { FlowFunction, FlowNode, Transition } from "../../../shared/contracts/flow/flow-node.ts";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";
import type { ValidationIssue } from "../../../shared/errors.ts";
import { secretReferences } from "../../../shared/placeholders.ts";
import { ALWAYS_ALLOWED } from "./payload-validation.ts";

/** What a template knows of variables: those that come with the payload or are declared, and those the conversation sets itself. */
export interface Variables {
  given: ReadonlySet<string>;
  said: ReadonlySet<string>;
  known: ReadonlySet<string>;
}

/** A function of the template and where it stands. */
export interface PlacedFunction {
  path: string;
  fn: FlowFunction;
}

const NAME_AND_END = /^\s*([A-Za-z][A-Za-z0-9_]*)\s*\}\}/;
const WHOLE = /^\{\{\s*([A-Za-z][A-Za-z0-9_]*)\s*\}\}$/;

const SECRET = /\{\{\s*secrets\.[A-Za-z][A-Za-z0-9_]*\s*\}\}/g;

/** The secrets that the functions' requests use, each with the path of its reference. */
export const secretsOfFunctions = (
  t: Pick<TemplateInput, "nodes" | "global_functions">,
): { path: string; name: string }[] =>
  functionsOf(t).flatMap(({ path, fn }) => secretReferences(fn.http?.headers, `${path}.http.headers`));

/** Every function of a template with its path, the nodes' own first. */
export const functionsOf = (t: Pick<TemplateInput, "nodes" | "global_functions">): PlacedFunction[] => [
  ...t.nodes.flatMap((node, i) => (node.functions ?? []).map((fn, j) => ({ path: `nodes.${i}.functions.${j}`, fn }))),
  ...(t.global_functions ?? []).map((fn, j) => ({ path: `global_functions.${j}`, fn })),
];

/** In a rule, the variable name of the DTMF just entered. */
const DIGITS = "digits";
const KEYED = /\{\{\s*digits\s*\}\}/;

/** Variables that rules set: from DTMF, or from what is known anyway. */
function ruled(t: TemplateInput): { keyed: string[]; known: string[] } {
  const set = t.nodes.flatMap((n) => n.transitions ?? []).flatMap((rule) => Object.entries(rule.set ?? {}));
  return { keyed: set.flatMap(([name, text]) => (KEYED.test(text) ? [name] : [])), known: set.map(([name]) => name) };
}

/** The variables of a template. `said`: set from the model's output or the customer's DTMF, so never trusted in an address. */
export function variablesOf(t: TemplateInput): Variables {
  const properties = t.payload_schema?.["properties"];
  const given = new Set([
    ...ALWAYS_ALLOWED,
    ...(typeof properties === "object" && properties !== null ? Object.keys(properties) : []),
    ...(t.variables ?? []),
  ]);
  const { keyed, known } = ruled(t);
  const said = new Set([...functionsOf(t).flatMap(({ fn }) => Object.keys(fn.set ?? {})), ...keyed]);
  const set = t.nodes
    .flatMap((n) => [...(n.on_enter ?? []), ...(n.on_exit ?? [])])
    .flatMap((a) => (a.type === "set" ? [a.variable] : []));
  return { given, said, known: new Set([...given, ...said, ...set, ...known]) };
}

/** The variable that is all of a text, or null. */
export const soleVariable = (text: string): string | null => WHOLE.exec(text)?.[1] ?? null;

/** Of a text that is taken to the letter: braces in it would stand for braces, and never be filled in. */
export const literalIssue = (text: unknown, path: string): ValidationIssue[] =>
  typeof text === "string" && text.includes("{{")
    ? [{ path, message: "is taken to the letter: {{ is never filled in here; write the value itself" }]
    : [];

function textIssues(text: string | undefined, path: string, known: ReadonlySet<string>): ValidationIssue[] {
  const issues = new Map<string, ValidationIssue>();
  for (const piece of (text ?? "").split("{{").slice(1)) {
    const name = NAME_AND_END.exec(piece)?.[1];
    if (name === undefined)
      issues.set("", { path, message: "holds {{ that begins no variable; write {{name}} with letters, digits and _" });
    else if (!known.has(name))
      issues.set(name, {
        path,
        message: `uses {{${name}}}, which is neither a property of payload_schema, nor in variables, nor set by the talk`,
      });
  }
  return [...issues.values()];
}

function deepIssues(value: unknown, path: string, known: ReadonlySet<string>): ValidationIssue[] {
  if (typeof value === "string") return textIssues(value, path, known);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => deepIssues(inner, `${path}.${key}`, known));
}

function ruleIssues(rule: Transition, path: string, known: ReadonlySet<string>): ValidationIssue[] {
  const variable = rule.when?.variable;
  const inRule = rule.when?.digits === undefined ? known : new Set([...known, DIGITS]);
  return [
    ...(variable === undefined || known.has(variable)
      ? []
      : [
          {
            path: `${path}.when.variable`,
            message: `asks for ${variable}, which is neither a property of payload_schema, nor in variables, nor set by the talk`,
          },
        ]),
    ...Object.entries(rule.set ?? {}).flatMap(([name, text]) => textIssues(text, `${path}.set.${name}`, inRule)),
  ];
}

const nodeIssues = (node: FlowNode, path: string, known: ReadonlySet<string>): ValidationIssue[] => [
  ...textIssues(node.say, `${path}.say`, known),
  ...textIssues(node.prompt, `${path}.prompt`, known),
  ...textIssues(node.role_prompt, `${path}.role_prompt`, known),
  ...(["on_enter", "on_exit"] as const).flatMap((when) =>
    (node[when] ?? []).flatMap((a, i) =>
      a.type === "set" ? textIssues(a.value, `${path}.${when}.${i}.value`, known) : [],
    ),
  ),
  ...(node.transitions ?? []).flatMap((rule, i) => ruleIssues(rule, `${path}.transitions.${i}`, known)),
];

const functionIssues = (fn: FlowFunction, path: string, known: ReadonlySet<string>): ValidationIssue[] => [
  ...literalIssue(fn.description, `${path}.description`),
  ...textIssues(fn.transfer_to, `${path}.transfer_to`, known),
  ...textIssues(fn.digits, `${path}.digits`, known),
  ...textIssues(fn.http?.url, `${path}.http.url`, known),
  ...deepIssues(fn.http?.body, `${path}.http.body`, known),
  // secrets stand in headers alone
  ...Object.entries(fn.http?.headers ?? {}).flatMap(([name, text]) =>
    textIssues(text.replaceAll(SECRET, ""), `${path}.http.headers.${name}`, known),
  ),
];

/** Variables that are used but never come from anywhere, and braces that are no variable. */
export function variableIssues(t: TemplateInput): ValidationIssue[] {
  const { known } = variablesOf(t);
  return [
    ...textIssues(t.greeting, "greeting", known),
    ...textIssues(t.voicemail_message, "voicemail_message", known),
    ...t.nodes.flatMap((node, i) => nodeIssues(node, `nodes.${i}`, known)),
    ...functionsOf(t).flatMap(({ path, fn }) => functionIssues(fn, path, known)),
    ...(t.evaluators ?? []).flatMap(({ question }, i) => literalIssue(question, `evaluators.${i}.question`)),
  ];
}
