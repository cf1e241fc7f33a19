import { createHash } from "node:crypto";
import { CATALOGUE, type ErrorCode } from "../../../shared/errors.ts";
import { propertiesOf, requiredOf, type Schema } from "../api/action-schema.ts";
import { exampleOf, type Example } from "./examples.ts";
import { descriptionOf, failuresOf } from "./openapi.ts";
import { bodySchemaOf, bulkSchemasOf, parametersOf, responseSchemaOf } from "./row-schemas.ts";
import { BASE_PATH } from "../../../shared/base-path.ts";
import { TAGS, type Row } from "../routes/row.ts";
import { isRecord } from "../../../shared/json.ts";

const STYLE = `:root{color-scheme:light dark;--line:#8886;--soft:#8881;--accent:#2563eb}
body{font:16px/1.55 system-ui,sans-serif;max-width:64rem;margin:0 auto;padding:1.5rem}
h1{margin:.2em 0}h2{margin-top:2.2em;border-bottom:1px solid var(--line)}code,pre{font:.9em ui-monospace,monospace}pre{background:var(--soft);padding:.8rem;overflow:auto;border-radius:6px}
a{color:var(--accent)}nav a{margin-right:1rem}details{border:1px solid var(--line);border-radius:6px;margin:.6rem 0;padding:0 .8rem}summary{cursor:pointer;padding:.6rem 0}
details[open]{padding-bottom:.8rem}.method{display:inline-block;min-width:3.6em;font-weight:700}table{border-collapse:collapse;width:100%;margin:.4rem 0}
th,td{text-align:left;vertical-align:top;padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--line)}h4{margin:.9em 0 .2em}tr:target{outline:2px solid var(--accent)}`;

/** Content-Security-Policy under which the page works: its own style and nothing else. */
export const DOCS_POLICY = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

/** How deep fields inside fields are shown. */
const MAX_DEPTH = 4;

/** Text made safe inside HTML, attributes included. */
export const escapeHtml = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");

const isText = (v: unknown): v is string => typeof v === "string";
const optionsOf = (schema: Schema): Schema[] =>
  Array.isArray(schema["anyOf"]) ? schema["anyOf"].filter(isRecord) : [];

/** A schema's type as text: `integer, 1 to 500`, `one of a, b`, `array of text or null`. */
export function typeText(schema: Schema): string {
  const options = optionsOf(schema);
  if (options.length > 0) return options.map(typeText).join(" or ");
  if (Array.isArray(schema["enum"])) return `one of ${schema["enum"].map(String).join(", ")}`;
  if ("const" in schema) return JSON.stringify(schema["const"]);
  const { type, format, minimum, maximum, maxLength, maxItems, pattern, items } = schema;
  if (type === "array")
    return `array of ${isRecord(items) ? typeText(items) : "anything"}${typeof maxItems === "number" ? `, at most ${maxItems}` : ""}`;
  const base = isText(type) ? type : "anything";
  const bounds =
    typeof minimum === "number" && typeof maximum === "number"
      ? `, ${minimum} to ${maximum}`
      : typeof minimum === "number"
        ? `, at least ${minimum}`
        : "";
  const length = typeof maxLength === "number" ? `, up to ${maxLength} characters` : "";
  return `${base}${isText(format) ? ` (${format})` : ""}${bounds}${length}${isText(pattern) ? `, like ${pattern}` : ""}`;
}

/** One row of a field table. */
export interface FieldLine {
  name: string;
  type: string;
  required: boolean;
}

/** A schema's fields, those of nested objects and arrays under dotted names. */
export function fieldLines(schema: Schema, prefix = "", depth = 1): FieldLine[] {
  const required = requiredOf(schema);
  return Object.entries(propertiesOf(schema)).flatMap(([name, inner]) => {
    const line = { name: `${prefix}${name}`, type: typeText(inner), required: required.includes(name) };
    const object = [inner, ...optionsOf(inner)].find((s) => s["type"] === "object") ?? null;
    const items = isRecord(inner["items"]) ? inner["items"] : null;
    if (depth >= MAX_DEPTH) return [line];
    return [
      line,
      ...(object ? fieldLines(object, `${prefix}${name}.`, depth + 1) : []),
      ...(items ? fieldLines(items, `${prefix}${name}[].`, depth + 1) : []),
    ];
  });
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  `<table><thead><tr>${head.map((h) => `<th>${h}</th>`).join("")}</tr></thead><tbody>${rows.map((r) => `<tr>${r.map((c) => `<td>${c}</td>`).join("")}</tr>`).join("")}</tbody></table>`;
const code = (text: string): string => `<code>${escapeHtml(text)}</code>`;
const fieldTable = (schema: Schema): string =>
  table(
    ["Field", "Type", ""],
    fieldLines(schema).map((f) => [code(f.name), escapeHtml(f.type), f.required ? "required" : ""]),
  );
const anchor = (row: Row): string => `${row.method.toLowerCase()}${row.path.replaceAll(/[^a-z0-9_]+/g, "-")}`;
const codeLink = (c: ErrorCode): string => `<a href="#${c}">${c}</a>`;

/** The example's request as it is sent, without what every request has. */
function exampleRequest(row: Row, { path = {}, query, headers = {}, request }: Example): string {
  const target = row.path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => path[name] ?? "");
  const search = new URLSearchParams(
    Object.entries(query ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  const lines = [
    `${row.method} ${BASE_PATH}${target}${search === "" ? "" : `?${search}`}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  return [...lines, ...(request === undefined ? [] : ["", JSON.stringify(request, null, 2)])].join("\n");
}

function exampleHtml(row: Row): string {
  const example = exampleOf(row);
  if (!example) return "";
  const answered =
    example.response === undefined ? "" : `<pre>${escapeHtml(JSON.stringify(example.response, null, 2))}</pre>`;
  return `<h4>Example</h4><pre>${escapeHtml(exampleRequest(row, example))}</pre>${answered}`;
}

function endpointHtml(row: Row): string {
  const parameters = parametersOf(row);
  const bulk = bulkSchemasOf(row);
  const body = bulk?.item ?? bodySchemaOf(row);
  const response = bulk?.outcome ?? responseSchemaOf(row);
  return `<details id="${anchor(row)}"><summary><span class="method">${row.method}</span> ${code(row.path)} — ${escapeHtml(row.summary)}</summary>
<p>${escapeHtml(descriptionOf(row))}</p>
${
  parameters.length > 0
    ? `<h4>Parameters</h4>${table(
        ["Name", "In", "Type", ""],
        parameters.map((p) => [code(p.name), p.in, escapeHtml(typeText(p.schema)), p.required ? "required" : ""]),
      )}`
    : ""
}
${body ? `<h4>${row.bulk ? "Each row of the body" : "Body"}</h4>${fieldTable(body)}` : ""}
<h4>Answer ${row.success}${row.bulk ? ", for each row" : ""}</h4>${response ? fieldTable(response) : `<p>${row.download ? `A file: ${escapeHtml(row.download.join(", "))}.` : "No body."}</p>`}
<h4>Errors</h4>${table(
    ["Status", "Code"],
    failuresOf(row).map(([status, codes]) => [String(status), codes.map(codeLink).join(", ")]),
  )}${exampleHtml(row)}</details>`;
}

/** The API for people: one page, readable without script. `base` is where the API is reached from outside. */
export function docsPage(rows: readonly Row[], version: string, base: string): string {
  const tags = [...new Set(rows.map((row) => row.tag))];
  const catalogue = Object.entries(CATALOGUE)
    .map(
      ([c, entry]) =>
        `<tr id="${c}"><td>${code(c)}</td><td>${escapeHtml(entry.title)}</td><td>${entry.retryable ? "may succeed later" : ""}</td></tr>`,
    )
    .join("");
  const url = escapeHtml(`${base}${BASE_PATH}`);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>callagent API</title><style>${STYLE}</style></head><body>
<h1>callagent API</h1><p>Outbound voice calls: push a lead, the phone rings, they talk, a webhook reports. Version ${escapeHtml(version)} · <a href="/openapi.json">OpenAPI document</a></p>
<p>Every path below is relative to <code>${url}</code>. Bodies are JSON, times ISO 8601 in UTC, durations seconds. Send <code>Authorization: Bearer &lt;token&gt;</code>:</p>
<pre>curl -s ${url}/login -H 'Content-Type: application/json' -d '{"email":"you@example.com","password":"…"}'</pre>
<nav>${tags.map((tag, i) => `<a href="#tag-${i}">${escapeHtml(tag)}</a>`).join("")}<a href="#errors">Errors</a></nav>
${tags
  .map(
    (tag, i) =>
      `<h2 id="tag-${i}">${escapeHtml(tag)}</h2><p>${escapeHtml(TAGS[tag])}</p>${rows
        .filter((r) => r.tag === tag)
        .map(endpointHtml)
        .join("")}`,
  )
  .join("")}
<h2 id="errors">Errors</h2><p>Failures are <code>application/problem+json</code> (RFC 9457): <code>code</code> is stable, <code>detail</code> says what to do, <code>errors</code> lists faults by path, <code>request_id</code> finds the log lines.</p>
<table><thead><tr><th>Code</th><th>Meaning</th><th></th></tr></thead><tbody>${catalogue}</tbody></table>
</body></html>
`;
}
