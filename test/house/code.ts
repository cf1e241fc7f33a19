import { posix } from "node:path";

/** A file of the project: its path from the root with `/`, and what it says. */
export interface Source {
  path: string;
  text: string;
}

/** One import of a file. `target` is a path from the root for relative imports, else the package's name. */
export interface Import {
  target: string;
  relative: boolean;
  typeOnly: boolean;
  line: number;
}

/** A source's code at the same offsets as the text, with comments as blanks; in `bare` what stands in quotes is blank too. */
export interface Code {
  code: string;
  bare: string;
}

/** Line number of an offset, from 1. */
export const lineAt = (text: string, offset: number): number => text.slice(0, offset).split("\n").length;

const blank = (text: string): string => text.replaceAll(/[^\n]/g, " ");
/** After these a slash begins a regular expression, after all else it divides. */
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};>+\-*%<~^]|\breturn|\btypeof|\bcase)\s*$/;
const REGEX = /\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y;
const QUOTED = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/y;
const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
const RECENT = 40;

const matchAt = (pattern: RegExp, text: string, at: number): string | null => {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
};

const known = new Map<string, Code>();

/** Takes comments and quoted text out of TypeScript, keeping every offset. Code inside `${}` stays code. A text that was asked for before is not read again. */
export function codeOf(text: string): Code {
  let code = known.get(text);
  if (code === undefined) known.set(text, (code = withoutComments(text)));
  return code;
}

function withoutComments(text: string): Code {
  let code = "";
  let bare = "";
  const keep = (piece: string, blanked = piece): void => {
    code += piece;
    bare += blanked;
  };
  /** Braces open inside each `${` that is open. */
  const holes: number[] = [];
  let inTemplate = false;
  for (let at = 0; at < text.length;) {
    const c = text[at] ?? "";
    const comment = inTemplate ? null : matchAt(COMMENT, text, at);
    const quoted = inTemplate ? null : matchAt(QUOTED, text, at);
    const regex =
      !inTemplate && c === "/" && comment === null && BEFORE_REGEX.test(bare.slice(-RECENT))
        ? matchAt(REGEX, text, at)
        : null;
    const whole = comment ?? quoted ?? regex;
    if (whole !== null) {
      if (comment === null)
        keep(whole, quoted === null ? `/${blank(whole.slice(1))}` : `${c}${blank(whole.slice(1, -1))}${c}`);
      else keep(blank(whole));
      at += whole.length;
      continue;
    }
    const step = inTemplate && c === "\\" ? text.slice(at, at + 2) : inTemplate && text.startsWith("${", at) ? "${" : c;
    if (inTemplate && step !== "${" && step !== "`") keep(step, blank(step));
    else keep(step);
    at += step.length;
    if (step === "`") inTemplate = !inTemplate;
    else if (step === "${" && inTemplate) {
      holes.push(0);
      inTemplate = false;
    } else if (!inTemplate && holes.length > 0 && step === "{") holes.push((holes.pop() ?? 0) + 1);
    else if (!inTemplate && holes.length > 0 && step === "}") {
      const depth = holes.pop() ?? 0;
      if (depth > 0) holes.push(depth - 1);
      else inTemplate = true;
    }
  }
  return { code, bare };
}

/** `import … from "x"`, `export … from "x"`, `import "x"`, `import("x")`, `require("x")`. */
const FORMS = [
  /\b(?:import|export)\s+(type\s+)?(?:[\w$*{},\s]+?)\s*\bfrom\s*["']([^"'\n]+)["']/g,
  /\bimport\s*()["']([^"'\n]+)["']/g,
  /\b(?:import|require)\s*()\(\s*["']([^"'\n]+)["']/g,
];

/** `import { type A, type B } from "x"` brings no value either. */
const onlyTypes = (statement: string): boolean => {
  const names =
    /\{([^}]*)\}/
      .exec(statement)?.[1]
      ?.split(",")
      .map((n) => n.trim())
      .filter((n) => n !== "") ?? [];
  return names.length > 0 && names.every((n) => n.startsWith("type ")) && !/import\s+[\w$]+\s*,/.test(statement);
};

const packageOf = (specifier: string): string =>
  specifier.startsWith("node:")
    ? specifier
    : specifier
        .split("/")
        .slice(0, specifier.startsWith("@") ? 2 : 1)
        .join("/");

/** Every import of a file, in order. */
export function importsOf(source: Source): Import[] {
  const { code, bare } = codeOf(source.text);
  const found: Import[] = [];
  for (const form of FORMS) {
    for (const match of code.matchAll(form)) {
      const [statement, type, specifier = ""] = match;
      if (!/^(?:import|export|require)/.test(bare.slice(match.index))) continue; // inside a text
      const relative = specifier.startsWith(".");
      found.push({
        target: relative ? posix.normalize(posix.join(posix.dirname(source.path), specifier)) : packageOf(specifier),
        relative,
        typeOnly: (type ?? "") !== "" || onlyTypes(statement),
        line: lineAt(source.text, match.index),
      });
    }
  }
  return found.sort((a, b) => a.line - b.line);
}
