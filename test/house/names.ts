import { posix } from "node:path";
import type { Source } from "./code.ts";
import type { Violation } from "./rules.ts";

/** Files of one folder, at most; a folder that needs more has a second level in it. */
export const MAX_FOLDER_FILES = 30;
/** Pages of docs/: the README has them by their question. */
const MAX_PAGES = 25;

/** Names that the vocabulary of docs/glossary.md has replaced, or that say nothing of what a file holds. */
const BANNED =
  /^(?:asked|baton|brain|ear|facts|ground|growing|heads|heard|hush|joined|joining|looking|mind|mouth|noting|own|pace|places|putting-aside|quiet-place|salvage|spoken-for|standing|talks?|thinker|together|told|told-session|turning|waiting|words|works|workshop)$/;
/** A role that a file of any service may play, with the same name in each. */
const ROLE_NAMES = /^(?:composition|deps|index|main|port|pure|surface)$/;
const ROLE_SUFFIX = /\.(?:service|model|repository)$/;
/** Nouns of the field that end as gerunds do. */
const FIELD_NOUNS =
  /^(?:batching|billing|docking|endpointing|fencing|pricing|recording|routing|scoring|streaming|string|throttling|timing)$/;

const stem = (path: string): string => posix.basename(path).replace(/\.(?:test|check|suite)?\.?[a-z]+$/, "");
const isTypeScript = (path: string): boolean => path.endsWith(".ts");
const serviceOf = (path: string): string | null => /^services\/([^/]+)\//.exec(path)?.[1] ?? null;

/** Names that the vocabulary bans, and verbs in -ing where a noun should stand. */
export const namesAreNouns = (files: readonly Source[]): Violation[] =>
  files
    .filter((f) => isTypeScript(f.path))
    .flatMap(({ path }) => {
      const name = stem(path).replace(ROLE_SUFFIX, "");
      if (BANNED.test(name))
        return [{ path, line: 1, rule: `the name ${name} is banned by docs/glossary.md: name what it holds` }];
      if (/^[a-z]+ing$/.test(name) && !FIELD_NOUNS.test(name))
        return [{ path, line: 1, rule: `the name ${name} is a verb in -ing: name what it holds` }];
      return [];
    });

/** A verb without its ending, so that `timed`, `timing` and `timer` are one. A plural is another word: a list of records is not a record. */
const root = (word: string): string => word.replace(/(?:ations?|ings?|ers?|ors?|ed|e)$/, "");
const rootOf = (name: string): string => name.split("-").map(root).join("-");

/** Files of one service whose names differ by an ending only. */
export const namesDifferByMoreThanTheirEnding = (files: readonly Source[]): Violation[] => {
  const seen = new Map<string, { path: string; name: string }>();
  return files.flatMap(({ path }) => {
    const service = serviceOf(path) ?? (path.startsWith("shared/") ? "shared" : null);
    if (service === null || !isTypeScript(path)) return [];
    const name = stem(path).replace(ROLE_SUFFIX, "");
    const folder = service === "dialer" && path.includes("/carriers/") ? posix.dirname(path) : service;
    const key = `${folder}:${rootOf(name)}`;
    const other = seen.get(key);
    if (other === undefined) seen.set(key, { path, name });
    return other !== undefined && other.name !== name
      ? [{ path, line: 1, rule: `the name differs from ${other.path} by its ending only` }]
      : [];
  });
};

/** The same file name in two services, unless both play the same role there. */
export const namesMeanOneThing = (files: readonly Source[]): Violation[] => {
  const owners = new Map<string, string>();
  return files.flatMap(({ path }) => {
    const service = serviceOf(path);
    const name = stem(path);
    if (service === null || !isTypeScript(path) || ROLE_NAMES.test(name) || ROLE_SUFFIX.test(name)) return [];
    const owner = owners.get(name);
    if (owner === undefined) owners.set(name, path);
    return owner !== undefined && serviceOf(owner) !== service
      ? [
          {
            path,
            line: 1,
            rule: `${owner} has the same name; two services may share one only for a role such as deps.ts`,
          },
        ]
      : [];
  });
};

/** Folders that a reader can take in at a glance; of docs/ the pages count, not what a program reads. */
export const foldersAreSmall = (files: readonly Source[]): Violation[] => {
  const counts = new Map<string, number>();
  for (const { path } of files.filter((f) => !/^docs\/.*(?<!\.md)$/.test(f.path)))
    counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1);
  return [...counts]
    .map(([folder, n]) => ({ folder, n, most: folder === "docs" ? MAX_PAGES : MAX_FOLDER_FILES }))
    .filter(({ n, most }) => n > most)
    .map(({ folder, n, most }) => ({ path: folder, line: 1, rule: `${n} files in one folder; at most ${most}` }));
};
