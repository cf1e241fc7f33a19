import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import { helpOf, invocation, readCommand } from "../../shared/process/command-line.ts";
import { commandOf, programOf, SCRIPTS } from "../fixtures/npm-commands.ts";

/** What a script starts, with the files beside it that it hands its arguments to. */
const MANNERS = /\b(?:runCommand|commandStatus|helpOf)\(/;
const OURS = Object.keys(SCRIPTS).filter((script) => programOf(script) !== null);

describe.each(OURS)("npm run %s", (script) => {
  const command = commandOf(script)!;
  test("is declared, and says with --help what it does and what each option is for", () => {
    expect(command).toBeDefined();
    const help = helpOf(command);
    expect(help.startsWith(`${invocation(command)} -- `)).toBe(true);
    expect(help).toContain(command.about);
    for (const name of Object.keys(command.options)) expect(help).toMatch(new RegExp(`--${name}\\b`));
    for (const { about } of Object.values(command.options)) expect(about.length).toBeGreaterThan(5);
    expect(readCommand(command, ["--help"])).toBeNull();
    expect(() => readCommand(command, ["--nonsense"])).toThrow(/^There is no option --nonsense/);
  });
  test("reads its command line by the one helper", () => {
    const file = join(ROOT, programOf(script) ?? "");
    const beside = [...readFileSync(file, "utf8").matchAll(/from "(\.\/[^"]+)"/g)].map((m) =>
      join(file, "..", m[1] ?? ""),
    );
    expect([file, ...beside].some((one) => existsSync(one) && MANNERS.test(readFileSync(one, "utf8")))).toBe(true);
    expect(readFileSync(file, "utf8")).not.toContain("parseArgs");
  });
});
