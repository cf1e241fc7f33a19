import { codeOf, lineAt, type Source } from "./code.ts";
import type { Violation } from "./rules.ts";

const EXPORT = /^export (?:default )?(?:async )?(?:abstract )?(const|function\*?|class|interface|type) (\w+)/;

/** Whether a doc comment ends right above this line. */
function isDocumented(lines: readonly string[], at: number): boolean {
  const above = lines[at - 1]?.trim() ?? "";
  if (!above.endsWith("*/")) return false;
  for (let i = at - 1; i >= 0; i--) {
    const line = lines[i]?.trim() ?? "";
    if (line.startsWith("/**")) return true;
    if (line.startsWith("/*") || (i < at - 1 && line.endsWith("*/"))) return false;
  }
  return false;
}

/** Constants that need no sentence: the unit is in the name. */
const WITH_UNIT = /^[A-Z\d_]+_(?:MS|SECONDS|BYTES|CHARS)$/;
const ONE_LINE_CONSTANT = /^export const [A-Z\d_]+ = [^{[(]*;$/;

/** Whether what stands above speaks for this line too: it is the type of an exported value of the file, or one more constant of a group. */
function isSpokenFor(lines: readonly string[], at: number, name: string, seen: ReadonlySet<string>): boolean {
  const line = lines[at] ?? "";
  if (seen.has(name.toLowerCase())) return true;
  const [, value] = /^export type \w+ = .*\btypeof (\w+)/.exec(line) ?? [];
  if (value !== undefined && seen.has(value.toLowerCase())) return true;
  if (!ONE_LINE_CONSTANT.test(line)) return false;
  let first = at;
  while (ONE_LINE_CONSTANT.test(lines[first - 1] ?? "")) first--;
  return isDocumented(lines, first);
}

/**
 * Section 4: everything exported says what it is. The type beside an exported value (`export type X` by `export const X`, or `typeof X`),
 * constants with their unit in the name, and a group of constants under one comment need no comment of their own.
 */
export const exportsAreDocumented = (files: readonly Source[]): Violation[] =>
  files
    .filter((f) => /^(?:services|shared)\/.*\.ts$/.test(f.path))
    .flatMap(({ path, text }) => {
      const lines = text.split("\n");
      const seen = new Set<string>();
      return lines.flatMap((line, at) => {
        const [, kind, name = ""] = EXPORT.exec(line) ?? [];
        const isDefault = line.startsWith("export default ");
        if (kind === undefined && !isDefault) return [];
        const spokenFor = kind !== undefined && isSpokenFor(lines, at, name, seen);
        seen.add(name.toLowerCase());
        if (isDocumented(lines, at) || spokenFor || (kind === "const" && WITH_UNIT.test(name))) return [];
        if (isDefault && /^export default \w+;?$/.test(line.trim())) return [];
        return [
          { path, line: at + 1, rule: `${isDefault ? "the default export" : name} is exported without a doc comment` },
        ];
      });
    });

/** The braces that open at `at`, with everything inside deeper brackets left out: an object's own keys. */
function ownKeys(bare: string, at: number): string {
  let depth = 0;
  let kept = "";
  for (const c of bare.slice(at)) {
    if ("([{".includes(c) && depth++ > 1) continue;
    if (")]}".includes(c) && --depth > 1) continue;
    if (depth <= 1 || "([{".includes(c)) kept += c;
    if (depth === 0) break;
  }
  return kept;
}

/** Actions that parts of a service give it: each part names them in its type, `Handlers<"service", "action" | …>`. */
const givenByParts = (files: readonly Source[], name: string): string[] =>
  files
    .filter((f) => f.path.startsWith(`services/${name}/`))
    .flatMap((f) => [...codeOf(f.text).code.matchAll(/\bHandlers<\s*"(\w+)",([^>]*)>/g)])
    .filter(([, service]) => service === name)
    .flatMap(([, , actions = ""]) => [...actions.matchAll(/\w+/g)].map(([action]) => action));

/** Each contract has a service folder of its name whose `actions`, or the parts spread into them, hold every action. `contracts`: service to its actions' names. */
export const contractsAreKept = (files: readonly Source[], contracts: Record<string, readonly string[]>): Violation[] =>
  Object.entries(contracts).flatMap(([name, actions]) => {
    const path = `services/${name}/${name}.service.ts`;
    const file = files.find((f) => f.path === path);
    if (!file) return [{ path, line: 1, rule: `the contract ${name} has no service` }];
    if (actions.length === 0) return [];
    const { bare } = codeOf(file.text);
    const start = bare.search(/\bactions\s*:\s*\{/);
    if (start === -1)
      return [{ path, line: 1, rule: `${name} offers no actions, its contract names ${actions.length}` }];
    const offered = ownKeys(bare, bare.indexOf("{", start));
    const parts = offered.includes("...") ? givenByParts(files, name) : [];
    return actions
      .filter((action) => !parts.includes(action))
      .filter((action) => !new RegExp(String.raw`[{,]\s*(?:async\s+)?${action}\s*[(:,}]`).test(offered))
      .map((action) => ({
        path,
        line: lineAt(file.text, start),
        rule: `the action ${name}.${action} of the contract is not implemented`,
      }));
  });
