import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BEHAVIOURS } from "../../local/people/behaviours.ts";
import { ROOT } from "../../local/tools/stack/stack.ts";
import { withMatrix } from "../../services/gateway/docs/role-matrix.ts";
import { ROUTES } from "../../services/gateway/routes/index.ts";
import { VARIABLES, type Variable } from "../../shared/variables.ts";

const readme = readFileSync(join(ROOT, "README.md"), "utf8");

describe("the README is true", () => {
  test.each(Object.entries<Variable>(VARIABLES))("it lists %s with its default and purpose", (name, v) => {
    const row = readme.split("\n").find((line) => line.startsWith(`| \`${name}\` |`)) ?? "";
    expect(row).toContain(v.doc);
    if (v.default !== undefined) expect(row).toContain(`\`${v.default}\``);
    if (v.secret) expect(row).toContain("**secret**");
  });
  test("it lists no variable that does not exist", () => {
    const listed = [...readme.matchAll(/^\| `([A-Z0-9_]+)` \|/gm)].map((m) => m[1] ?? "");
    expect(listed.filter((name) => !Object.hasOwn(VARIABLES, name))).toEqual([]);
  });
  test.each(Object.entries(BEHAVIOURS))("the person behind %s", (digits, b) => {
    expect(readme).toContain(`| ${digits} | ${b.description} |`);
  });
  test("who may do what stands as the table of routes has it", () => {
    expect(withMatrix(readme, ROUTES) === readme).toBe(true); // else: npm run sdk:types
    for (const row of ROUTES)
      expect(readme).toMatch(
        new RegExp(`^\\| \`${row.path.replaceAll(/[{}]/g, String.raw`\$&`)}\`.*\\b${row.method}\\b`, "m"),
      );
  });
  test("every link leads to a file", () => {
    const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map((m) => m[1]!).filter((l) => !l.startsWith("http"));
    expect(links.filter((l) => !existsSync(join(ROOT, l)))).toEqual([]);
  });
  test("every npm script it names exists", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    const named = [...readme.matchAll(/npm run ([a-z:]+)/g)].map((m) => m[1]!);
    expect(named.filter((n) => !(n in scripts))).toEqual([]);
  });
});
