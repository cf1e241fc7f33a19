import { BEHAVIOURS } from "../../local/people/behaviours.ts";
import { withMatrix } from "../../services/gateway/docs/role-matrix.ts";
import { ROUTES } from "../../services/gateway/routes/index.ts";
import { END_TABLE, type EndRow } from "../../services/leads/rules/outcomes.ts";
import { CALL_ENDED_BY, HANG_UP_REASONS } from "../../shared/hangup-source.ts";
import { VARIABLES, type Variable } from "../../shared/process/variables.ts";
import { collectionsOf } from "../house/rules.ts";
import { readProject } from "../house/sources.ts";
import { codeSpansOf, pageAt } from "./pages.ts";

const product = readProject().filter((file) => /^(?:services|shared)\/.*\.ts$/.test(file.path));
const services = product.filter((file) => file.path.startsWith("services/"));

/** The words in inline code of one cell of a table's row; the row is known by its first cell. */
const namesIn = (page: string, row: string, cell: number): string[] => {
  const line = page.split("\n").find((l) => l.startsWith(`| ${row} |`)) ?? "";
  return [...(line.split("|")[cell] ?? "").matchAll(/`([^`]+)`/g)].map((m) => m[1] ?? "");
};

describe("docs/configuration.md", () => {
  const page = pageAt("docs/configuration.md");
  test.each(Object.entries<Variable>(VARIABLES))("lists %s with its default and purpose", (name, v) => {
    const row = page.split("\n").find((line) => line.startsWith(`| \`${name}\` |`)) ?? "";
    expect(row).toContain(v.doc);
    if (v.default !== undefined) expect(row).toContain(`\`${v.default}\``);
    if (v.secret) expect(row).toContain("**secret**");
  });
  test("lists no variable that does not exist", () => {
    const listed = [...page.matchAll(/^\| `([A-Z0-9_]+)` \|/gm)].map((m) => m[1] ?? "");
    expect(listed.filter((name) => !Object.hasOwn(VARIABLES, name))).toEqual([]);
  });
});

describe("docs/tools.md", () => {
  test.each(Object.entries(BEHAVIOURS))("describes the simulated person behind %s", (digits, b) => {
    expect(pageAt("docs/tools.md")).toContain(`| ${digits} | ${b.description} |`);
  });
});

describe("docs/reliability.md", () => {
  test("says what follows from who ended a call as the code has it", () => {
    const [, table = ""] = pageAt("docs/reliability.md").split(
      "<!-- who ended a call: written by hand, checked by test/docs -->",
    );
    const rows = (table.split("<!-- who ended a call: end -->")[0] ?? "").trim().split("\n").slice(2);
    const cells = rows.map((row) =>
      row
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll("`", "")),
    );
    const outcomes = new Map(Object.entries<EndRow>(END_TABLE));
    expect(cells).toEqual(
      Object.entries(CALL_ENDED_BY).map(([by, word]) => [by, word, outcomes.get(by)?.before, outcomes.get(by)?.after]),
    );
  });
  test("names every reason for which we end a call", () => {
    const [, section = ""] = pageAt("docs/reliability.md").split("## Who ended a call\n");
    const named = [...(section.split("\n## ")[0] ?? "").matchAll(/`([^`\n]+)`/g)].map(([, name]) => name);
    expect(HANG_UP_REASONS.filter((reason) => !named.includes(reason))).toEqual([]);
  });
});

describe("docs/api.md", () => {
  test("says who may call what as the table of routes has it", () => {
    const page = pageAt("docs/api.md");
    expect(withMatrix(page, ROUTES) === page).toBe(true); // else: npm run sdk:types
    for (const row of ROUTES)
      expect(page).toMatch(
        new RegExp(`^\\| \`${row.path.replaceAll(/[{}]/g, String.raw`\$&`)}\`.*\\b${row.method}\\b`, "m"),
      );
  });
});

describe("docs/architecture.md", () => {
  test("names the folders of every service", () => {
    const section =
      pageAt("docs/architecture.md").split("each folder is a responsibility:\n")[1]?.split("\n## ")[0] ?? "";
    const inCode = Map.groupBy(
      services.flatMap((file) => /^services\/([^/]+)\/([^/]+\/)/.exec(file.path)?.slice(1, 3).join(" ") ?? []),
      (both) => both.split(" ")[0] ?? "",
    );
    for (const [service, folders] of inCode)
      expect([service, namesIn(section, service, 2).sort()]).toEqual([
        service,
        [...new Set(folders.map((both) => both.split(" ")[1]))].sort(),
      ]);
  });
  test("names the owner of every collection", () => {
    const page = pageAt("docs/architecture.md");
    const owned = Map.groupBy(collectionsOf(services), (c) => c.service);
    for (const [service, collections] of owned)
      expect([service, namesIn(page, service, 3).sort()]).toEqual([
        service,
        collections.map((c) => c.collection).sort(),
      ]);
  });
});

describe("the state machines in docs/architecture.md", () => {
  const page = pageAt("docs/architecture.md");
  test.each([
    [
      "State machine of a lead",
      ["services/leads/rules/lead-state-machine.ts", "services/leads/rules/lead-transition.ts"],
      1,
    ],
    ["State machine of a call", ["services/dialer/call/call-state-machine.ts", "services/dialer/call/new-calls.ts"], 3],
  ])("%s: names the transitions as the code does", (heading, paths, cell) => {
    const section = page.split(`## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
    const rows = section
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .slice(1);
    const named = rows.flatMap((row) => [...(row.split("|")[cell] ?? "").matchAll(/`(\w+)`/g)].map((m) => m[1] ?? ""));
    const code = services.flatMap((file) => (paths.includes(file.path) ? file.text : [])).join("\n");
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !new RegExp(`^export (?:const|function) ${name}\\b`, "m").test(code))).toEqual([]);
  });
});

describe("docs/operations.md", () => {
  test("names log events that are written", () => {
    const page = pageAt("docs/operations.md");
    const named = [...page.matchAll(/^\| (`[a-z_]+\.[a-z_]+`[^|]*)\|/gm)].flatMap((m) =>
      [...(m[1] ?? "").matchAll(/`([^`]+)`/g)].map((n) => n[1] ?? ""),
    );
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((event) => !product.some((file) => file.text.includes(`"${event}"`)))).toEqual([]);
  });
});

describe("docs/glossary.md", () => {
  test("gives names that the code has", () => {
    const page = { path: "docs/glossary.md", text: pageAt("docs/glossary.md") };
    const code = readProject().filter((file) => /^(?:services|shared)\/.*\.ts$/.test(file.path));
    const names = codeSpansOf(page).flatMap((span) => /^(?:\w+\.)?(\w+)(?:\.ts)?$/.exec(span)?.[1] ?? []);
    const known = (name: string): boolean =>
      code.some((file) => file.path.endsWith(`/${name}.ts`) || new RegExp(`\\b${name}\\b`).test(file.text));
    expect(names.filter((name) => !known(name))).toEqual([]);
  });
});
