import { ROOT, readProject } from "../house/sources.ts";

/** A Markdown document of the project; `path` from the project's root. */
export interface Page {
  path: string;
  text: string;
}

/** A fenced block of a page: its language, empty where none is named, and the heading above it. */
export interface Block {
  path: string;
  line: number;
  language: string;
  text: string;
}

export { ROOT };

/** Every document of the project. */
export const pages: readonly Page[] = readProject().filter((file) => file.path.endsWith(".md"));

/** The text of one document. Throws when there is none. */
export function pageAt(path: string): string {
  const page = pages.find((p) => p.path === path);
  if (!page) throw new Error(`there is no document ${path}`);
  return page.text;
}

/** The fenced blocks of a page. */
export function blocksOf({ path, text }: Page): Block[] {
  return [...text.matchAll(/^```([^\n`]*)\n([^]*?)^```$/gm)].map((m) => ({
    path,
    line: text.slice(0, m.index).split("\n").length,
    language: (m[1] ?? "").trim(),
    text: m[2] ?? "",
  }));
}

/** A page without its fenced blocks. */
export const proseOf = ({ text }: Page): string => text.replaceAll(/^```[^]*?^```$/gm, "");

/** The inline code of a page, its fenced blocks aside. */
export const codeSpansOf = (page: Page): string[] => [...proseOf(page).matchAll(/`([^`\n]+)`/g)].map((m) => m[1] ?? "");
