import { readFileSync } from "node:fs";
import { CsvError, parse } from "csv-parse/sync";
import { decodedText } from "../../../shared/text/encoded-text.ts";
import type { Client } from "../api-client.ts";
import { UsageError } from "../../../shared/process/command-line.ts";

/** How a row's session is held, once its lead was pushed. */
export interface RowSession {
  mode: "RTC" | "RTC_TEST" | "RTC_STREAM";
  template_id?: string;
  hold(client: Client, lead_id: string): Promise<void>;
}

/** One row of a leads file: what is pushed, and how the lead must end. */
export interface Row {
  line: number;
  request_id: string;
  payload: Record<string, string>;
  /** How it ends; several words where it may end in several ways: "customer_hangup or failed". */
  expected: string;
  /** It is a session that a client joins, in place of a call. */
  session?: RowSession;
}

const REQUIRED = ["request_id", "customer_mobile_number", "expected"];
const MAX_ROWS = 2000;
const HEADER_LINES = 1;
const MAX_ISSUES_SHOWN = 20;

/** What spreadsheets put between values, by the language of the computer; Excel's own first line `sep=;` names it. */
const DELIMITERS = [",", ";", "\t", "|"] as const;
const SEP_LINE = /^"?sep=(.)"?[ \t]*(?:\r\n|\n|\r)/i;
/** Names that variables may have. */
const VARIABLE = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

/** The one that stands most often in the first line, which names the columns. */
function delimiterOf(text: string): string {
  const [first = ""] = text.split(/[\r\n]/, 1);
  const counts = DELIMITERS.map((delimiter) => first.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ",";
}

function tableOf(text: string, name: string): string[][] {
  const [line = "", named] = SEP_LINE.exec(text) ?? [];
  const rest = text.slice(line.length);
  const delimiter = named ?? delimiterOf(rest);
  try {
    // quotes inside of a value that has none around it are part of it: ="+14155550100"
    return parse(rest, { trim: true, skip_empty_lines: true, relax_column_count: true, relax_quotes: true, delimiter });
  } catch (error) {
    throw new UsageError(`${name} is no CSV file: ${error instanceof CsvError ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** Values without the empty ones behind the last column, which spreadsheets add. */
function withoutTail(cells: readonly string[], columns: number): string[] {
  const last = cells.findLastIndex((cell) => cell !== "");
  return cells.slice(0, Math.max(last + 1, columns));
}

/** What is wrong with the names of the columns; null: nothing. */
function headerIssue(header: readonly string[]): string | null {
  const missing = REQUIRED.filter((column) => !header.includes(column));
  const otherwise = missing.flatMap((column) => header.find((name) => name.toLowerCase() === column) ?? []);
  if (missing.length > 0)
    return `the column${missing.length > 1 ? "s" : ""} ${missing.join(", ")} missing${otherwise.length === 0 ? "" : ` (written ${otherwise.join(", ")})`}; the first line must name request_id, customer_mobile_number, the template's variables and expected`;
  const repeated = header.find((column, i) => header.indexOf(column) !== i);
  if (repeated !== undefined) return `the column ${repeated} stands twice, and nothing says which of them counts`;
  const odd = header.find((column) => !VARIABLE.test(column));
  return odd === undefined ? null : `the column "${odd}" is no name of a variable: letters, digits and _`;
}

/** Rows of CSV text. UsageError lists what is wrong, by line, before anything is started. Empty values are left out of the payload. */
export function parseRows(text: string, name: string): Row[] {
  const [first = [], ...body] = tableOf(text, name);
  if (first.length === 0) throw new UsageError(`${name} is empty.`);
  const header = withoutTail(first, 0);
  const issue = headerIssue(header);
  if (issue !== null) throw new UsageError(`${name} line 1: ${issue}.`);
  if (body.length === 0) throw new UsageError(`${name} has no rows below its header.`);
  if (body.length > MAX_ROWS)
    throw new UsageError(`${name} has ${body.length} rows; the demo takes at most ${MAX_ROWS}.`);

  const issues: string[] = [];
  const seen = new Set<string>();
  const rows = body.map((all, i) => {
    const line = i + 1 + HEADER_LINES;
    const cells = withoutTail(all, header.length);
    if (cells.length !== header.length)
      issues.push(`line ${line}: ${cells.length} values, the header names ${header.length}`);
    const {
      request_id = "",
      expected = "",
      ...rest
    } = Object.fromEntries(header.map((column, c) => [column, cells[c] ?? ""]));
    if (!request_id) issues.push(`line ${line}: request_id is empty`);
    if (seen.has(request_id))
      issues.push(`line ${line}: request_id ${request_id} stands twice; the demo tells its leads apart by it`);
    seen.add(request_id);
    if (!expected)
      issues.push(
        `line ${line}: expected is empty; give an outcome such as confirmed, a refusal such as "403 NUMBER_BLACKLISTED", or BACKLOG`,
      );
    return {
      line,
      request_id,
      expected,
      payload: Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== "")),
    };
  });
  if (issues.length > 0)
    throw new UsageError(
      `${name} can't be used:\n${issues
        .slice(0, MAX_ISSUES_SHOWN)
        .map((f) => `  ${f}`)
        .join("\n")}`,
    );
  return rows;
}

/** Rows of a file. */
export function readRows(path: string): Row[] {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new UsageError(
      `${path} can't be read (${error instanceof Error && "code" in error ? String(error.code) : "?"}).`,
      { cause: error },
    );
  }
  const { text, fault } = decodedText(bytes);
  if (fault !== null) throw new UsageError(`${path} ${fault}; save it as "CSV UTF-8".`);
  return parseRows(text, path);
}
