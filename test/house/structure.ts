import { posix } from "node:path";
import { codeOf, importsOf, lineAt, type Source } from "./code.ts";
import type { Violation } from "./rules.ts";

/** Lines of one class, at most. */
export const MAX_CLASS_LINES = 300;

/** Index of the bracket that closes the one at `at`. */
function closing(bare: string, at: number): number {
  let depth = 0;
  for (let i = at; i < bare.length; i++) {
    if ("([{".includes(bare[i] ?? "")) depth++;
    else if (")]}".includes(bare[i] ?? "") && --depth === 0) return i;
  }
  return bare.length;
}

/** Classes of one responsibility: the linter's limit on functions does not see them. */
export const classesAreSmall = (files: readonly Source[]): Violation[] =>
  files
    .filter((f) => f.path.endsWith(".ts"))
    .flatMap(({ path, text }) => {
      const { bare } = codeOf(text);
      return [...bare.matchAll(/\bclass\s+(\w+)[^{;()]*\{/g)].flatMap((m) => {
        const [first, last] = [lineAt(text, m.index), lineAt(text, closing(bare, m.index + m[0].length - 1))];
        const lines = last - first + 1;
        return lines > MAX_CLASS_LINES
          ? [{ path, line: first, rule: `the class ${m[1]} has ${lines} lines; at most ${MAX_CLASS_LINES}` }]
          : [];
      });
    });

/** Hooks of a fixture stand in a function that a test file calls: the files of a worker share the fixture, which is loaded for the first of them alone. */
export const hooksAreCalled = (files: readonly Source[]): Violation[] =>
  files
    .filter(({ path }) => path.startsWith("test/") && path.endsWith(".ts") && !/\.(?:test|suite)\.ts$/.test(path))
    .flatMap(({ path, text }) =>
      [...codeOf(text).bare.matchAll(/^(?:before|after)(?:All|Each)\(/gm)].map((m) => ({
        path,
        line: lineAt(text, m.index),
        rule: "a hook at the top of a fixture reaches the first file of a worker alone; put it in a function",
      })),
    );

/** Files that import each other in a circle, type imports included; one violation for each circle. */
export function importsMakeNoCircle(files: readonly Source[]): Violation[] {
  const sources = new Map(files.filter((f) => f.path.endsWith(".ts")).map((f) => [f.path, f]));
  const imports = new Map([...sources].map(([path, f]) => [path, importsOf(f)]));
  const state = new Map<string, "open" | "done">();
  const found: Violation[] = [];
  const walk = (path: string, road: readonly string[]): void => {
    state.set(path, "open");
    for (const { target, line } of imports.get(path) ?? []) {
      if (!sources.has(target)) continue;
      if (state.get(target) === "open") {
        const circle = [...road, path].slice([...road, path].indexOf(target));
        found.push({ path, line, rule: `closes the circle ${[...circle, target].join(" > ")}` });
      } else if (!state.has(target)) walk(target, [...road, path]);
    }
    state.set(path, "done");
  };
  for (const path of sources.keys()) if (!state.has(path)) walk(path, []);
  return found;
}

/** Tools and benches know a service by the surface that it declares: services/<name>/pure.ts or surface.ts. Benches may start whole services. */
export const toolsUseTheDeclaredSurface = (files: readonly Source[]): Violation[] =>
  files
    .filter((f) => /^local\/tools\/.*\.ts$/.test(f.path))
    .flatMap((file) =>
      importsOf(file)
        .filter((i) => i.target.startsWith("services/") && !/^services\/[^/]+\/(?:pure|surface)\.ts$/.test(i.target))
        .map((i) => ({
          path: file.path,
          line: i.line,
          rule: `a tool imports ${i.target}; it may use what services/<name>/pure.ts declares`,
        })),
    );

/** Comments of a TypeScript file, each with its offset. */
function commentsOf(text: string): { text: string; at: number }[] {
  const { code } = codeOf(text);
  const out: { text: string; at: number }[] = [];
  for (const m of text.matchAll(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g)) {
    if (code.slice(m.index, m.index + m[0].length).trim() === "") out.push({ text: m[0], at: m.index });
  }
  return out;
}

/** A file that a sentence names: `docs/models.md`, `outcomes.ts`; not a method such as `x.ts` in code or an address. */
const CITED = /(?<![\w/:.<>{}*$@-])((?:\.{0,2}\/)?(?:[\w.-]+\/)*[\w.-]+\.(?:md|ts|cjs|json|yml))\b(?![\w(/*])/g;

/** Comments name only files that are in the repository: by their path from the root or from where they stand, or by their name alone. */
export const commentsCiteWhatIsThere = (files: readonly Source[]): Violation[] => {
  const paths = new Set(files.map((f) => f.path));
  const names = new Set(files.map((f) => posix.basename(f.path)));
  const known = (cited: string, from: string): boolean =>
    paths.has(cited) ||
    paths.has(posix.join(posix.dirname(from), cited)) ||
    (cited.includes("/") ? [...paths].some((p) => p.endsWith(`/${cited}`)) : names.has(cited));
  return files
    .filter((f) => f.path.endsWith(".ts") && !f.path.startsWith("test/house/"))
    .flatMap(({ path, text }) =>
      commentsOf(text).flatMap((comment) =>
        [...comment.text.matchAll(CITED)]
          .filter((m) => !known(m[1] ?? "", path) && !GIVEN_BY_OTHERS.test(m[1] ?? ""))
          .map((m) => ({
            path,
            line: lineAt(text, comment.at + m.index),
            rule: `cites ${m[1]}, which is not in the repository`,
          })),
      ),
    );
};

/** Files that a package or a program makes. */
const GIVEN_BY_OTHERS =
  /^(?:package-lock\.json|answers\.json|openapi\.json|.*-template\.json|template\.json|moleculer\.js)$/;

/** Error codes that the catalogue lists and nothing gives. `codes`: those of shared/errors.ts. */
export const errorCodesAreUsed = (files: readonly Source[], codes: readonly string[]): Violation[] => {
  const catalogue = files.find((f) => f.path === "shared/errors.ts");
  const users = files
    .filter(
      (f) =>
        /^(?:services|shared)\//.test(f.path) && f.path !== "shared/errors.ts" && !f.path.endsWith("/http-errors.ts"),
    )
    .map((f) => codeOf(f.text).code);
  const used = (code: string): boolean =>
    users.some((text) => new RegExp(String.raw`["'\`]${code}["'\`]|\b${code}\s*:`).test(text)) ||
    (catalogue !== undefined && codeOf(catalogue.text).code.split(`"${code}"`).length > 1);
  return codes
    .filter((code) => !used(code))
    .map((code) => ({
      path: "shared/errors.ts",
      line: catalogue === undefined ? 1 : lineAt(catalogue.text, Math.max(0, catalogue.text.indexOf(code))),
      rule: `nothing throws ${code}`,
    }));
};

/** Events that a contract declares and nothing emits. */
export const eventsAreEmitted = (files: readonly Source[], events: readonly string[]): Violation[] => {
  const emitted = new Set(
    files
      .filter((f) => /^(?:services|shared)\//.test(f.path))
      .flatMap((f) =>
        [...codeOf(f.text).code.matchAll(/\.\s*(?:emit|broadcast)\s*\(\s*["'`]([^"'`]+)["'`]/g)].map((m) => m[1]),
      ),
  );
  return events
    .filter((event) => !emitted.has(event))
    .map((event) => ({ path: "shared/contracts/index.ts", line: 1, rule: `nothing emits the event ${event}` }));
};
