import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { isMap, isScalar, LineCounter, parseDocument, visit } from "yaml";
import { newRecord, payloadCheck, templateIssues } from "../../../services/config/pure.ts";
import { argumentChecks, flowOf, type Flow } from "../../../services/conversation/pure.ts";
import { TemplateInput, type TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { issueChecker } from "../../../shared/validator.ts";
import { sampleTemplates } from "../sample/templates.ts";
import { UsageError } from "../../../shared/process/command-line.ts";
import { decodedText } from "../../../shared/text/encoded-text.ts";
import { fileError } from "./user-error.ts";
import { Script, writtenOut } from "./script.ts";

/** Reads templates, scripts and payloads; every error says what is wrong, where, and what to do. */

const MAX_FILE_BYTES = 1_048_576;
const MAX_SCRIPTS = 1000;
/** The record of a script's template has this id and time. */
const RECORD_ID = "00000000-0000-4000-8000-000000000000";
const RECORD_TIME = new Date(0);
/** Fields of GET /templates/{id} that nobody writes. */
const SHOWN_ONLY = new Set(["id", "version", "created_at", "updated_at"]);

const templateShape = issueChecker(TemplateInput);
const scriptShape = issueChecker(Script);

/** A template ready for talking. `file`: null for a sample. */
export interface LoadedTemplate {
  readonly name: string;
  readonly file: string | null;
  readonly template: TemplateRecord;
  readonly flow: Flow;
}
/** A script with its file's name. */
export interface NamedScript {
  readonly file: string;
  readonly script: Script;
}

/** Whether a name is that of a folder. */
export const isFolder = (name: string): boolean => existsSync(name) && statSync(name).isDirectory();

const shown = (path: string): string => {
  const short = relative(process.cwd(), resolve(path));
  return short.startsWith("..") ? path : short;
};

function textOf(file: string, what: string): string {
  if (!existsSync(file)) throw new UsageError(`${shown(file)}: there is no such file. Name ${what}.`);
  if (!statSync(file).isFile()) throw new UsageError(`${shown(file)} is no file. Name ${what}.`);
  if (statSync(file).size > MAX_FILE_BYTES)
    throw new UsageError(`${shown(file)} is larger than ${MAX_FILE_BYTES} bytes.`);
  const { text, fault } = decodedText(readFileSync(file));
  if (fault !== null) throw new UsageError(`${shown(file)} ${fault}; write it in UTF-8.`);
  return text;
}

/** YAML, of which JSON is a part, as plain values. Keys to press are taken as they are written: 0123 is four of them. */
function valuesOf(text: string, file: string): unknown {
  const lines = new LineCounter();
  const doc = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = doc.errors;
  if (error) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new UsageError(
      `${shown(file)}:${line}:${col} is no valid ${file.endsWith(".json") ? "JSON" : "YAML"}: ${error.message}`,
    );
  }
  visit(doc, {
    Pair(_key, { key, value }) {
      if (isScalar(key) && key.value === "press" && isScalar(value) && value.source !== undefined)
        value.value = value.source;
    },
  });
  if (!isMap(doc.contents)) throw new UsageError(`${shown(file)} holds no fields. See npm run converse -- --help.`);
  return doc.toJS({ maxAliasCount: 100 });
}

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** As a client would write it: what GET adds is left out, null is the default. */
const asWritten = (value: Record<string, unknown>): Record<string, unknown> => ({
  reseller_id: "reseller",
  ...Object.fromEntries(Object.entries(value).filter(([field, v]) => v !== null && !SHOWN_ONLY.has(field))),
});

const isTemplate = (value: unknown): value is TemplateInput => templateShape(value).length === 0;

function readyOf(name: string, file: string | null, value: unknown): LoadedTemplate {
  const written = isFields(value) ? asWritten(value) : value;
  if (!isTemplate(written)) throw fileError(name, "this is no template. Mend these:", templateShape(written));
  const faults = templateIssues(written);
  if (faults.length > 0) throw fileError(name, "the template can't work as it is. Mend these:", faults);
  const template = newRecord(RECORD_ID, written, RECORD_TIME);
  return { name: template.name, file, template, flow: flowOf(template, argumentChecks(template)) };
}

/** A template by its file, or a sample by its name. UsageError. */
export function readTemplate(name: string, folder: string): LoadedTemplate {
  const file = resolve(folder, name);
  const sample = sampleTemplates.find((s) => s.name === name);
  if (sample && !existsSync(file)) return readyOf(name, null, structuredClone(sample));
  if (!sample && !existsSync(file))
    throw new UsageError(
      `${shown(file)}: there is no such template file; the samples are ${sampleTemplates.map((s) => s.name).join(" and ")}.`,
    );
  return readyOf(shown(file), file, valuesOf(textOf(file, "a template, as it is sent to POST /templates"), file));
}

function scriptFiles(name: string): string[] {
  const pattern = isFolder(name) ? join(name, "**", "*.{yaml,yml}") : name;
  if (!pattern.includes("*")) return [name];
  const found = globSync(pattern)
    .filter((file) => /\.ya?ml$/i.test(file))
    .sort();
  if (found.length === 0) throw new UsageError(`${name}: there is no script in it. Scripts end with .yaml.`);
  return found;
}

const isScript = (value: unknown): value is Script => scriptShape(value).length === 0;

function readScript(file: string): NamedScript {
  const value = writtenOut(valuesOf(textOf(file, "a script: YAML with turns and expect"), file));
  if (!isScript(value)) throw fileError(shown(file), "this is no script. Mend these:", scriptShape(value));
  return { file: shown(file), script: value };
}

/** The scripts of files, folders and patterns, in order, each once. UsageError. */
export function readScripts(names: readonly string[]): NamedScript[] {
  const files = [...new Set(names.flatMap(scriptFiles))];
  if (files.length > MAX_SCRIPTS)
    throw new UsageError(`${files.length} scripts are too many; at most ${MAX_SCRIPTS} at once.`);
  return files.map(readScript);
}

/** The template of a script: the command line's, else its own. UsageError. */
export function templateFor({ file, script }: NamedScript, asked: string | null): LoadedTemplate {
  if (asked !== null) return readTemplate(asked, process.cwd());
  if (script.template === undefined)
    throw new UsageError(`${file}: it names no template; add "template: …" to it or name one on the command line.`);
  return readTemplate(script.template, dirname(file));
}

/** Refuses a payload that the template's schema would not take. UsageError. */
export function requirePayload(where: string, { template }: LoadedTemplate, payload: Record<string, unknown>): void {
  const faults = payloadCheck(template.payload_schema)(payload);
  if (faults.length > 0)
    throw fileError(where, `the payload does not fit payload_schema of ${template.name}. Mend these:`, faults);
}

/** A payload file. UsageError. */
export function readPayload(file: string): Record<string, unknown> {
  const value = valuesOf(textOf(file, "a payload, JSON or YAML"), file);
  return isFields(value) ? value : {};
}

/** What a script is called where it has no name. */
export const titleOf = ({ file, script }: NamedScript): string => script.name ?? basename(file);
