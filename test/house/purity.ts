import { codeOf, importsOf, lineAt, type Source } from "./code.ts";
import type { Violation } from "./rules.ts";

/** Words that reach outside a calculation, each with what it would be. */
const MACHINE_CLOCK: readonly [RegExp, string][] = [
  [/\bDate\s*\.\s*now\b/g, "Date.now"],
  [/\bnew\s+Date\s*(?:\(\s*\)|(?![\w\s]*\())/g, "new Date()"],
];
const IMPURE: readonly [RegExp, string][] = [
  ...MACHINE_CLOCK,
  [/\bawait\b/g, "await"],
  [/\basync\b/g, "async"],
  [/\bMath\s*\.\s*random\b/g, "Math.random"],
  [/\bperformance\s*\.\s*now\b/g, "performance.now"],
  [/\bprocess\s*\./g, "process"],
  [/\bset(?:Timeout|Interval|Immediate)\s*\(/g, "a timer"],
  [/\bfetch\s*\(/g, "fetch"],
  [/\bconsole\s*\./g, "console"],
  [/\brandom(?:UUID|Bytes|Int)\b/g, "randomness"],
];
const FORBIDDEN =
  /^(?:mongoose|mongodb|moleculer|moleculer-web|undici|ws|nats|openai|twilio|pino|node:(?:fs|net|http|https|dns|child_process|timers|worker_threads)(?:\/.*)?|shared\/(?:bus\/(?:bus|bus-validator)|database\/mongo|process\/(?:env|process-deps|log)|time\/loop)\.ts)$/;

/** Expands the list: `folder/*` is every file in it. Entries that name nothing are returned apart. */
export function pureFiles(files: readonly Source[], list: readonly string[]): { pure: Source[]; missing: string[] } {
  const found = new Map<string, Source>();
  const missing: string[] = [];
  for (const entry of list) {
    const matching = files.filter((f) =>
      entry.endsWith("/*") ? f.path.startsWith(entry.slice(0, -1)) && f.path.endsWith(".ts") : f.path === entry,
    );
    if (matching.length === 0) missing.push(entry);
    for (const f of matching) found.set(f.path, f);
  }
  return { pure: [...found.values()], missing };
}

/** What the pure files stand on: themselves, and every file of the services that they import for more than its types. */
function closure(files: readonly Source[], pure: readonly Source[]): { file: Source; why: string }[] {
  const reached = new Map(pure.map((file) => [file.path, { file, why: "is pure" }]));
  const open = [...pure];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    for (const i of importsOf(file)) {
      const target = files.find((f) => f.path === i.target);
      if (i.typeOnly || !target || !target.path.startsWith("services/") || reached.has(target.path)) continue;
      reached.set(target.path, { file: target, why: `is used by the pure ${file.path}` });
      open.push(target);
    }
  }
  return [...reached.values()];
}

/** Sections 3 and 4, 7: pure files calculate; no clock, chance, waiting, store, bus or environment, neither in themselves nor in what they use. */
export const pureFilesArePure = (files: readonly Source[], pure: readonly Source[]): Violation[] =>
  closure(files, pure).flatMap(({ file, why }) => {
    const { bare } = codeOf(file.text);
    return [
      ...IMPURE.flatMap(([pattern, what]) =>
        [...bare.matchAll(pattern)].map((m) => ({
          path: file.path,
          line: lineAt(file.text, m.index),
          rule: `${what} in a file that ${why}`,
        })),
      ),
      ...importsOf(file)
        .filter((i) => !i.typeOnly && FORBIDDEN.test(i.target))
        .map((i) => ({ path: file.path, line: i.line, rule: `imports ${i.target}, but ${why}` })),
    ];
  });

/** Instants are the deployment's time, which no clock that is set moves: services and shared code ask the clock that they are given. */
export const machineClockHasOnePlace = (files: readonly Source[]): Violation[] =>
  files
    .filter((f) => /^(?:services|shared)\/.*\.ts$/.test(f.path) && f.path !== "shared/time/clock.ts")
    .flatMap((file) => {
      const { bare } = codeOf(file.text);
      return MACHINE_CLOCK.flatMap(([pattern, what]) =>
        [...bare.matchAll(pattern)].map((m) => ({
          path: file.path,
          line: lineAt(file.text, m.index),
          rule: `the machine's clock is asked in shared/time/clock.ts only, not by ${what}`,
        })),
      );
    });
