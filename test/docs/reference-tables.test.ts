import { BEHAVIOURS } from "../../local/people/behaviours.ts";
import { withMatrix } from "../../services/gateway/docs/role-matrix.ts";
import { ROUTES } from "../../services/gateway/routes/index.ts";
import { VARIABLES, type Variable } from "../../shared/variables.ts";
import { pageAt } from "./pages.ts";

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
