import type { Row } from "../routes/row.ts";
import type { Example } from "./examples.ts";

/** A request as code in one language. */
export interface Sample {
  language: "curl" | "TypeScript" | "Python";
  code: string;
}

const pathOf = (row: Row, { path = {} }: Example): string =>
  row.path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));

function searchOf({ query = {} }: Example): string {
  const search = new URLSearchParams(
    Object.entries(query).map(([k, v]): [string, string] => [k, String(v)]),
  ).toString();
  return search === "" ? "" : `?${search}`;
}

const isOpen = (row: Row): boolean => row.roles === "public";
/** A text as a word of the shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function curl(row: Row, example: Example): string {
  const lines = [
    `curl -s ${row.method === "GET" ? "" : `-X ${row.method} `}"$BASE${pathOf(row, example)}${searchOf(example)}"`,
    ...(isOpen(row) ? [] : [`-H "Authorization: Bearer $TOKEN"`]),
    ...Object.entries(example.headers ?? {}).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(example.request === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(example.request, null, 2))}`]),
    ...(row.download ? ["-o recording"] : []),
  ];
  return lines.join(" \\\n  ");
}

function typeScript(row: Row, example: Example): string {
  const { path, query, headers, request } = example;
  const given = {
    ...(path === undefined ? {} : { path }),
    ...(query === undefined ? {} : { query }),
    ...(headers === undefined ? {} : { headers }),
    ...(request === undefined ? {} : { body: request }),
  };
  if (row.download)
    return `const answer = await fetch(\`\${BASE}${pathOf(row, example)}\`, { headers: { Authorization: \`Bearer \${TOKEN}\` } });\nconst sound = Buffer.from(await answer.arrayBuffer());`;
  const rest = Object.keys(given).length === 0 ? "" : `, ${JSON.stringify(given, null, 2)}`;
  return `import { createClient } from "@callagent/client";

const client = createClient({ base: BASE, token: ${isOpen(row) ? "null" : "TOKEN"} });
const answer = await client.ask("${row.method}", "${row.path}"${rest});`;
}

/** A JSON value as Python writes it. */
function python(value: unknown, indent = ""): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const items = Array.isArray(value)
    ? value.map((item) => python(item, inner))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${python(item, inner)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return items.length === 0
    ? `${open}${close}`
    : `${open}\n${items.map((i) => `${inner}${i},\n`).join("")}${indent}${close}`;
}

function requests(row: Row, example: Example): string {
  const headers = [
    ...(isOpen(row) ? [] : [`"Authorization": f"Bearer {TOKEN}"`]),
    ...Object.entries(example.headers ?? {}).map(
      ([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`,
    ),
  ];
  return `import requests

answer = requests.${row.method.toLowerCase()}(
    f"{BASE}${pathOf(row, example)}",
${headers.length === 0 ? "" : `    headers={${headers.join(", ")}},\n`}${example.query === undefined ? "" : `    params=${python(example.query, "    ")},\n`}${example.request === undefined ? "" : `    json=${python(example.request, "    ")},\n`}    timeout=20,
)
answer.raise_for_status()${row.download || row.success === 204 ? "" : "\nprint(answer.json())"}`;
}

/** A row's example as code: BASE is the address of the API, TOKEN a bearer token. */
export const samplesOf = (row: Row, example: Example): Sample[] => [
  { language: "curl", code: curl(row, example) },
  { language: "TypeScript", code: typeScript(row, example) },
  { language: "Python", code: requests(row, example) },
];
