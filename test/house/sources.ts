import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Source } from "./code.ts";

/** The project's root folder. */
export const ROOT = join(import.meta.dirname, "..", "..");

const SKIPPED = new Set(["node_modules", ".git", ".callagent", "coverage", "package-lock.json"]);

function walk(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return [];
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return walk(path);
    return entry.isFile() ? [path] : [];
  });
}

/** Every file of the project that somebody wrote. */
export const readProject = (): Source[] =>
  walk("")
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
