import { samplesOf } from "../../../services/gateway/docs/code-samples.ts";
import { exampleOf } from "../../../services/gateway/docs/examples.ts";
import { docsPage } from "../../../services/gateway/docs/html-page.ts";
import { DOCS_POLICY, SCRIPT } from "../../../services/gateway/docs/page-assets.ts";
import { ROUTES } from "../../../services/gateway/routes/index.ts";

const all = ROUTES.flatMap((row) => {
  const example = exampleOf(row);
  return example ? samplesOf(row, example).map((sample) => ({ row, example, ...sample })) : [];
});
const samples = (language: string) => all.filter((sample) => sample.language === language);
const find = (language: string, at: string) =>
  samples(language).find(({ row }) => `${row.method} ${row.path}` === at)?.code;

test("every operation has a sample in each language", () => {
  for (const language of ["curl", "TypeScript", "Python"]) expect(samples(language)).toHaveLength(ROUTES.length);
});

test("curl sends the example's body, and a token where one is needed", () => {
  for (const { row, example, code } of samples("curl")) {
    expect(code.includes("$TOKEN")).toBe(row.roles !== "public");
    const [, body] = /-d '([^]*?)'(?: \\\n|$)/.exec(code) ?? [];
    expect(body === undefined ? undefined : JSON.parse(body.replaceAll(`'\\''`, "'"))).toEqual(example.request);
  }
});

test("TypeScript is valid, and asks for the row's path by its client", () => {
  for (const { row, code } of samples("TypeScript")) {
    const body = code.replace(/^import .*\n/, "");
    expect(() => new Function("BASE", "TOKEN", "createClient", `return async () => { ${body} }`)).not.toThrow();
    if (!row.download) expect(code).toContain(`client.ask("${row.method}", "${row.path}"`);
  }
});

test("Python writes JSON's values in its own words", () => {
  expect(find("Python", "GET /users")).toBe(`import requests

answer = requests.get(
    f"{BASE}/users",
    headers={"Authorization": f"Bearer {TOKEN}"},
    params={
        "role": "merchant",
        "is_active": True,
    },
    timeout=20,
)
answer.raise_for_status()
print(answer.json())`);
  expect(find("Python", "POST /login")).not.toContain("TOKEN");
});

test("the page's search looks through every endpoint and every schema of the page, and its policy lets its own script alone run", () => {
  const page = docsPage(ROUTES, "2026-11-21", "https://x.example");
  const schemas = [...page.matchAll(/<section id="schema-/g)].length;
  expect(schemas).toBeGreaterThan(10);
  expect([...page.matchAll(/<li data-text="/g)]).toHaveLength(ROUTES.length + schemas);
  expect(page).toContain(`<script>${SCRIPT}</script>`);
  expect(DOCS_POLICY).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; /);
});
