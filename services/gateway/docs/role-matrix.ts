import { ROLES } from "../../../shared/contracts/records/identity.ts";
import type { Row } from "../routes/row.ts";

/** The marks around the matrix in docs/api.md. */
export const MATRIX_MARKS = {
  begin: "<!-- roles: written by npm run sdk:types from services/gateway/routes/index.ts -->",
  end: "<!-- /roles -->",
} as const;

/** Who may call what, as a Markdown table: a row for each path, a column for each role, in the cells the methods it may use. */
export function roleMatrix(rows: readonly Row[]): string {
  const paths = [...new Set(rows.map((row) => row.path))];
  const cell = (path: string, role: (typeof ROLES)[number]): string =>
    rows
      .filter((row) => row.path === path && (row.roles === "public" || row.roles.includes(role)))
      .map((row) => row.method)
      .join(" ");
  const isOpen = (path: string): boolean => rows.some((row) => row.path === path && row.roles === "public");
  return [
    `| path | ${ROLES.join(" | ")} |`,
    `|---|${ROLES.map(() => "---|").join("")}`,
    ...paths.map(
      (path) =>
        `| \`${path}\`${isOpen(path) ? " (no token)" : ""} | ${ROLES.map((role) => cell(path, role)).join(" | ")} |`,
    ),
  ].join("\n");
}

/** A text with the matrix put between its marks; null when it has none. */
export function withMatrix(text: string, rows: readonly Row[]): string | null {
  const [begin, end] = [text.indexOf(MATRIX_MARKS.begin), text.indexOf(MATRIX_MARKS.end)];
  if (begin < 0 || end < begin) return null;
  return `${text.slice(0, begin + MATRIX_MARKS.begin.length)}\n${roleMatrix(rows)}\n${text.slice(end)}`;
}
