import { CATALOGUE, type ErrorCode } from "../../../shared/errors.ts";
import { requiredOf, type Schema } from "../api/action-schema.ts";
import { samplesOf } from "./code-samples.ts";
import { exampleOf } from "./examples.ts";
import { fieldLines, fieldTable, meaningHtml, namedIn, nameOf, typeHtml } from "./field-tables.ts";
import { descriptionOf, failuresOf } from "./openapi.ts";
import { SCRIPT, STYLE } from "./page-assets.ts";
import { bodySchemaOf, bulkSchemasOf, parametersOf, responseSchemaOf } from "./row-schemas.ts";
import { webhookBody, WEBHOOK_TEXT } from "./webhook-section.ts";
import { BASE_PATH } from "../../../shared/base-path.ts";
import { brandHtml, escapeHtml, ICON_LINK } from "../../../shared/html/page-parts.ts";
import { TAGS, type Row } from "../routes/row.ts";

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  `<table><thead><tr>${head.map((h) => `<th>${h}</th>`).join("")}</tr></thead><tbody>${rows.map((r) => `<tr>${r.map((c) => `<td>${c}</td>`).join("")}</tr>`).join("")}</tbody></table>`;
const code = (text: string): string => `<code>${escapeHtml(text)}</code>`;
const anchor = (row: Row): string => `${row.method.toLowerCase()}${row.path.replaceAll(/[^a-z0-9_]+/g, "-")}`;
const codeLink = (c: ErrorCode): string => `<a href="#${c}">${c}</a>`;
const methodOf = (row: Row): string => `<span class="method ${row.method.toLowerCase()}">${row.method}</span>`;

function exampleHtml(row: Row): string {
  const example = exampleOf(row);
  if (!example) return "";
  const samples = samplesOf(row, example)
    .map(
      ({ language, code: text }, i) =>
        `<details name="sample-${anchor(row)}"${i === 0 ? " open" : ""}><summary>${language}</summary><pre tabindex="0">${escapeHtml(text)}</pre></details>`,
    )
    .join("");
  const answered =
    example.response === undefined
      ? ""
      : `<h4>Answer</h4><pre tabindex="0">${escapeHtml(JSON.stringify(example.response, null, 2))}</pre>`;
  return `<h4>Example</h4>${samples}${answered}`;
}

/** A body's fields; of a named one its name too. */
const bodyHtml = (schema: Schema): string =>
  `${nameOf(schema) === null ? "" : `<p>${typeHtml(schema)}</p>`}${fieldTable(fieldLines(schema))}`;

/** The schemas of a row's bodies, as they are shown. */
function schemasOfRow(row: Row): { body: Schema | null; response: Schema | null } {
  const bulk = bulkSchemasOf(row);
  return { body: bulk?.item ?? bodySchemaOf(row), response: bulk?.outcome ?? responseSchemaOf(row) };
}

function endpointHtml(row: Row): string {
  const parameters = parametersOf(row);
  const { body, response } = schemasOfRow(row);
  return `<details id="${anchor(row)}"><summary>${methodOf(row)} ${code(row.path)} — ${escapeHtml(row.summary)}</summary>
<p>${escapeHtml(descriptionOf(row))}</p>
${exampleHtml(row)}
${parameters.length > 0 ? `<h4>Parameters</h4>${fieldTable(parameters)}` : ""}
${body ? `<h4>${row.bulk ? "Each row of the body" : "Body"}</h4>${bodyHtml(body)}` : ""}
<h4>Answer ${row.success}${row.bulk ? ", for each row" : ""}</h4>${response ? bodyHtml(response) : `<p>${row.download ? `A file: ${escapeHtml(row.download.join(", "))}.` : "No body."}</p>`}
<h4>Errors</h4>${table(
    ["Status", "Code"],
    failuresOf(row).map(([status, codes]) => [String(status), codes.map(codeLink).join(", ")]),
  )}</details>`;
}

function schemaHtml([name, schema]: readonly [string, Schema]): string {
  const lines = fieldLines(schema);
  const shapes = Array.isArray(schema["anyOf"])
    ? (schema["anyOf"] as Schema[]).filter((s) => requiredOf(s).length > 0)
    : [];
  return `<section id="schema-${name}"><h3>${name}</h3><p>${meaningHtml(schema, true)}</p>${lines.length > 0 ? fieldTable(lines) : shapes.map((shape) => fieldTable(fieldLines(shape))).join("")}</section>`;
}

const tagId = (tag: string): string => `tag-${tag.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;

const groupHtml = (name: string, items: readonly string[]): string =>
  `<details><summary>${escapeHtml(name)}</summary><ul>${items.join("")}</ul></details>`;
const endpointItem = (row: Row): string =>
  `<li data-text="${escapeHtml(`${row.summary} ${row.tag}`)}"><a href="#${anchor(row)}">${methodOf(row)} ${code(row.path)}</a></li>`;
const schemaItem = (name: string): string => `<li data-text=""><a href="#schema-${name}">${code(name)}</a></li>`;

/** All endpoints by part of the API, and the schemas, which a search looks through with all that is said of them. */
const asideHtml = (tags: readonly Row["tag"][], rows: readonly Row[], schemas: readonly string[]): string =>
  `<aside>${brandHtml("/")}<nav aria-label="Endpoints"><input id="search" type="search" placeholder="Search endpoints and fields" aria-label="Search endpoints and fields" hidden><p id="none" role="status" hidden></p><p><a href="#start">Start</a> · <a href="#webhook">Webhook</a> · <a href="#errors">Errors</a> · <a href="#schemas">Schemas</a></p>${tags
    .map((tag) => groupHtml(tag, rows.filter((row) => row.tag === tag).map(endpointItem)))
    .join(
      "",
    )}${groupHtml("Schemas", schemas.map(schemaItem))}<details id="within" hidden><summary>Mentioned in</summary><ul></ul></details></nav></aside>`;

const startHtml = (version: string, url: string): string =>
  `<h1 id="start">callagent API</h1><p>Outbound voice calls: push a lead, the phone rings, the agent and the person talk, a webhook reports. API version ${escapeHtml(version)} (<code>X-Api-Version</code>; the program has a version of its own) · <a href="/openapi.json">OpenAPI document</a></p>
<p>Every path below is relative to <code>${url}</code>. Bodies are JSON, times ISO 8601 in UTC, durations seconds. Get a token, and send it as <code>Authorization: Bearer &lt;token&gt;</code>; samples take both from variables:</p>
<pre tabindex="0">BASE=${url}
TOKEN=$(curl -s "$BASE/login" -H 'Content-Type: application/json' -d '{"email":"you@example.com","password":"…"}' | jq -r .access_token)</pre>`;

const errorsHtml = (): string => {
  const catalogue = Object.entries(CATALOGUE)
    .map(
      ([c, entry]) =>
        `<tr id="${c}"><td>${code(c)}</td><td>${escapeHtml(entry.title)}</td><td>${entry.retryable ? "may succeed later" : ""}</td></tr>`,
    )
    .join("");
  return `<h2 id="errors">Errors</h2><p>Failures are <code>application/problem+json</code> (RFC 9457): <code>code</code> is stable, <code>detail</code> says what to do, <code>errors</code> lists issues by path, <code>request_id</code> finds the log lines.</p>
<table><thead><tr><th>Code</th><th>Meaning</th><th></th></tr></thead><tbody>${catalogue}</tbody></table>`;
};

/** The API for people: one page, readable without script. `base` is where the API is reached from outside. */
export function docsPage(rows: readonly Row[], version: string, base: string): string {
  const tags = [...new Set(rows.map((row) => row.tag))];
  const event = webhookBody();
  const named = namedIn([...rows.flatMap((row) => [schemasOfRow(row), parametersOf(row)]), event]);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>callagent API</title>${ICON_LINK}<style>${STYLE}</style></head><body>
${asideHtml(
  tags,
  rows,
  [...named].map(([name]) => name),
)}<main>${startHtml(version, escapeHtml(`${base}${BASE_PATH}`))}
${tags
  .map(
    (tag) =>
      `<h2 id="${tagId(tag)}">${escapeHtml(tag)}</h2><p>${escapeHtml(TAGS[tag])}</p>${rows
        .filter((r) => r.tag === tag)
        .map(endpointHtml)
        .join("")}`,
  )
  .join("")}
<h2 id="webhook">Webhook lead.finished</h2>${WEBHOOK_TEXT.map((text) => `<p>${escapeHtml(text)}</p>`).join("")}${bodyHtml(event)}
${errorsHtml()}
<h2 id="schemas">Schemas</h2>${[...named].map(schemaHtml).join("")}</main><script>${SCRIPT}</script></body></html>
`;
}
