import { type FlowFunction } from "../../../shared/contracts/flow/flow-node.ts";
import { TEMPLATE_BYTES, type TemplateInput } from "../../../shared/contracts/records/template.ts";
import { fail, type ValidationIssue } from "../../../shared/errors.ts";
import { jsonBytes } from "../../../shared/json.ts";
import { shortNumberIssue } from "../../../shared/numbering/short-number.ts";
import { readNumber } from "../../../shared/phone.ts";
import { schemaIssues, type JsonSchema } from "../../../shared/schemas/client-schema.ts";
import { requestIssues } from "./request-secrets.ts";
import { comparisonIssues, leadsOn, transitionIssues } from "./flow-transition-validation.ts";
import { endIssues, roadIssues } from "./flow-reachability.ts";
import { outcomeIssues } from "./outcome-validation.ts";
import { functionsOf, soleVariable, variableIssues, variablesOf, type Variables } from "./template-variables.ts";

/** Largest template taken, as JSON text. */
export const MAX_TEMPLATE_BYTES = 256 * 1024;
/** Most functions of all nodes together. */
export const MAX_FUNCTIONS = 400;

const HTTP_ORIGIN = /^https?:\/\/[^/?#{}\s]+(?:[/?#]|$)/;

/** Paths at which a unique name is repeated; its first use is no issue. */
function repeated(
  names: readonly string[],
  path: (i: number) => string,
  message: (name: string) => string,
): ValidationIssue[] {
  const seen = new Set<string>();
  return names.flatMap((name, i) => {
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    return [{ path: path(i), message: message(name) }];
  });
}

function nameIssues(t: TemplateInput): ValidationIssue[] {
  const globals = (t.global_functions ?? []).map((f) => f.name);
  const global = new Set(globals);
  return [
    ...repeated(
      t.nodes.map((n) => n.name),
      (i) => `nodes.${i}.name`,
      (name) => `another node is already named ${name}`,
    ),
    ...repeated(
      globals,
      (i) => `global_functions.${i}.name`,
      (name) => `another global function is already named ${name}`,
    ),
    ...t.nodes.flatMap((node, i) => {
      const own = (node.functions ?? []).map((f) => f.name);
      const path = (j: number): string => `nodes.${i}.functions.${j}.name`;
      return [
        ...repeated(own, path, (name) => `another function of this node is already named ${name}`),
        ...own.flatMap((name, j) =>
          global.has(name) ? [{ path: path(j), message: `a global function is already named ${name}` }] : [],
        ),
      ];
    }),
  ];
}

const leadsNowhere = (fn: FlowFunction): boolean =>
  fn.next_node === undefined &&
  fn.outcome === undefined &&
  Object.keys(fn.set ?? {}).length === 0 &&
  (fn.action ?? "none") === "none";

/** A target that stands in the template is written as it is dialled. */
function fixedTargetIssue(text: string): string | null {
  const read = readNumber(text);
  if ("issue" in read) return `${read.issue}; or write one {{variable}}`;
  return read.e164 === text ? null : `must be written as it is dialled, ${read.e164}`;
}

function transferIssues(fn: FlowFunction, path: string, variables: Variables): ValidationIssue[] {
  if (fn.action !== "transfer") return [];
  if (fn.transfer_to === undefined)
    return [{ path: `${path}.transfer_to`, message: "is required for the action transfer" }];
  const variable = soleVariable(fn.transfer_to);
  const never = shortNumberIssue(fn.transfer_to);
  if (never !== null) return [{ path: `${path}.transfer_to`, message: never }];
  if (variable === null) {
    const message = fixedTargetIssue(fn.transfer_to);
    return message === null ? [] : [{ path: `${path}.transfer_to`, message }];
  }
  return variables.said.has(variable)
    ? [
        {
          path: `${path}.transfer_to`,
          message: `must not be {{${variable}}}: a function sets it from what is said in the talk, so anyone could choose who is called`,
        },
      ]
    : [];
}

/** DTMF between the variables; DTMF that comes from variables is checked when it is sent. */
function digitsIssues(fn: FlowFunction, path: string): ValidationIssue[] {
  if (fn.action !== "send_digits") return [];
  if (fn.digits === undefined) return [{ path: `${path}.digits`, message: "is required for the action send_digits" }];
  const fixed = fn.digits.replace(/\{\{[^}]*\}\}|\s/g, "");
  return /^[0-9*#w]{0,32}$/.test(fixed)
    ? []
    : [{ path: `${path}.digits`, message: "may hold 0-9, *, #, w and {{variables}}, at most 32 keys" }];
}

function httpIssues(fn: FlowFunction, path: string): ValidationIssue[] {
  if (fn.action !== "http") return [];
  if (fn.http === undefined) return [{ path: `${path}.http`, message: "is required for the action http" }];
  return [
    ...(HTTP_ORIGIN.test(fn.http.url) && URL.canParse(fn.http.url.replaceAll(/[{}\s]/g, "x"))
      ? []
      : [{ path: `${path}.http.url`, message: "must be an http or https address whose host holds no variable" }]),
    ...requestIssues(fn.http, `${path}.http`),
  ];
}

/** What is wrong with a schema of a client at a path of the template. */
export type SchemaVerdict = (schema: JsonSchema, path: string) => ValidationIssue[];

function parameterIssues(fn: FlowFunction, path: string, verdict: SchemaVerdict): ValidationIssue[] {
  const at = `${path}.parameters`;
  const properties = fn.parameters?.["properties"];
  const known = typeof properties === "object" && properties !== null ? properties : {};
  return [
    ...(fn.parameters === undefined ? [] : verdict(fn.parameters, at)),
    ...(fn.parameters === undefined || fn.parameters["type"] === "object"
      ? []
      : [{ path: `${at}.type`, message: "must be object: a function takes named arguments" }]),
    ...Object.entries(fn.set ?? {}).flatMap(([variable, argument]) =>
      Object.hasOwn(known, argument)
        ? []
        : [
            {
              path: `${path}.set.${variable}`,
              message: `takes the argument ${argument}, which is no property of parameters`,
            },
          ],
    ),
  ];
}

function functionIssues(t: TemplateInput, verdict: SchemaVerdict): ValidationIssue[] {
  const variables = variablesOf(t);
  return functionsOf(t).flatMap(({ path, fn }) => [
    ...(leadsNowhere(fn)
      ? [{ path, message: `${fn.name} leads nowhere: give it a next_node, an outcome, variables to set or an action` }]
      : []),
    ...transferIssues(fn, path, variables),
    ...httpIssues(fn, path),
    ...digitsIssues(fn, path),
    ...parameterIssues(fn, path, verdict),
  ]);
}

function payloadSchemaIssues(t: TemplateInput, verdict: SchemaVerdict): ValidationIssue[] {
  if (t.payload_schema === undefined) return [];
  const type = t.payload_schema["type"];
  const takesObjects = type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
  return [
    ...verdict(t.payload_schema, "payload_schema"),
    ...(takesObjects ? [] : [{ path: "payload_schema.type", message: "must be object: a payload is one" }]),
  ];
}

function evaluatorIssues({ evaluators = [] }: TemplateInput): ValidationIssue[] {
  return [
    ...repeated(
      evaluators.map((e) => e.name),
      (i) => `evaluators.${i}.name`,
      (name) => `another evaluator is already named ${name}`,
    ),
    ...evaluators.flatMap(({ scale }, i) =>
      scale === undefined || scale.min < scale.max
        ? []
        : [{ path: `evaluators.${i}.scale.max`, message: "must be greater than min" }],
    ),
  ];
}

const namesOf = (type: "language" | "script" | "region"): Intl.DisplayNames =>
  new Intl.DisplayNames("en", { type, fallback: "none" });
const [languages, scripts, regions] = [namesOf("language"), namesOf("script"), namesOf("region")];
/** Tags of ISO 639 for what is no one language. */
const NO_LANGUAGE = new Set(["und", "mul", "mis", "zxx"]);

/** Whether a BCP 47 tag names a language that there is: "english" and "xx-YY" are well formed, and nobody's. */
function isLanguage(tag: string): boolean {
  try {
    const { language, script, region } = new Intl.Locale(tag);
    return (
      !NO_LANGUAGE.has(language) &&
      languages.of(language) !== undefined &&
      (script === undefined || scripts.of(script) !== undefined) &&
      (region === undefined || regions.of(region) !== undefined)
    );
  } catch {
    return false;
  }
}

const languageIssues = ({ language }: Pick<TemplateInput, "language">): ValidationIssue[] =>
  language === undefined || isLanguage(language)
    ? []
    : [{ path: "language", message: "is no language tag (BCP 47): write it like en-US, de or pt-BR" }];

function sizeIssues(t: TemplateInput): ValidationIssue[] {
  if (Buffer.byteLength(JSON.stringify(t)) > MAX_TEMPLATE_BYTES)
    return [{ path: "", message: `the template must be at most ${MAX_TEMPLATE_BYTES} bytes of JSON` }];
  if (jsonBytes(t) > TEMPLATE_BYTES)
    return [{ path: "nodes", message: `a template may have at most ${TEMPLATE_BYTES / 1024} KiB as JSON` }];
  return functionsOf(t).length > MAX_FUNCTIONS
    ? [{ path: "nodes", message: `all nodes together may have at most ${MAX_FUNCTIONS} functions` }]
    : [];
}

/** The JSON Schemas of a template that are to be looked at, each with its path. */
export const schemasOf = (t: TemplateInput): { schema: JsonSchema; path: string }[] =>
  sizeIssues(t).length > 0
    ? []
    : [
        ...functionsOf(t).flatMap(({ path, fn }) =>
          fn.parameters === undefined ? [] : [{ schema: fn.parameters, path: `${path}.parameters` }],
        ),
        ...(t.payload_schema === undefined ? [] : [{ schema: t.payload_schema, path: "payload_schema" }]),
      ];

/**
 * Everything that keeps a template from working, at once, each with its path. None: it can be saved. `verdict`: of each of `schemasOf`, where the caller has it
 * already; looking at one here may take a while.
 */
export function templateIssues(t: TemplateInput, verdict: SchemaVerdict = schemaIssues): ValidationIssue[] {
  const large = sizeIssues(t);
  if (large.length > 0) return large;
  return [
    ...nameIssues(t),
    ...roadIssues(t),
    ...endIssues(t),
    ...t.nodes.flatMap((n, i) =>
      n.say === undefined && n.prompt === undefined && !leadsOn(n)
        ? [{ path: `nodes.${i}`, message: `${n.name} has neither say nor prompt, so there is nothing to talk about` }]
        : [],
    ),
    ...functionIssues(t, verdict),
    ...transitionIssues(t),
    ...outcomeIssues(t),
    ...payloadSchemaIssues(t, verdict),
    ...variableIssues(t),
    ...evaluatorIssues(t),
    ...languageIssues(t),
  ];
}

/** What is wrong with a template that was saved before this was refused: it goes on working as it did, and is shown with these. */
export const templateWarnings = (
  t: Pick<TemplateInput, "initial_node" | "nodes" | "global_functions" | "language">,
): ValidationIssue[] => [...endIssues(t), ...outcomeIssues(t), ...comparisonIssues(t), ...languageIssues(t)];

/** Whether a template can work. TEMPLATE_INVALID lists everything that keeps it from it. */
export function requireValidTemplate(t: TemplateInput, verdict: SchemaVerdict): void {
  const errors = templateIssues(t, verdict);
  if (errors.length > 0)
    fail(
      "TEMPLATE_INVALID",
      `The template can't work as it is: ${errors.length === 1 ? "1 issue" : `${errors.length} issues`}, see errors. Nothing was saved.`,
      { errors },
    );
}
