import { readFileSync } from "node:fs";
import { CsvError, parse } from "csv-parse/sync";
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

/** Rows of CSV text. UsageError lists what is wrong, by line, before anything is started. Empty values are left out of the payload. */
export function parseRows(text: string, name: string): Row[] {
  let table: string[][];
  try {
    table = parse(text, { trim: true, skip_empty_lines: true, bom: true, relax_column_count: true });
  } catch (error) {
    throw new UsageError(`${name} is no CSV file: ${error instanceof CsvError ? error.message : String(error)}`, {
      cause: error,
    });
  }
  const [header = [], ...body] = table;
  const missing = REQUIRED.filter((column) => !header.includes(column));
  if (missing.length > 0)
    throw new UsageError(
      `${name} line 1: the column${missing.length > 1 ? "s" : ""} ${missing.join(", ")} missing; the first line must name request_id, customer_mobile_number, the template's variables and expected.`,
    );
  if (body.length === 0) throw new UsageError(`${name} has no rows below its header.`);
  if (body.length > MAX_ROWS)
    throw new UsageError(`${name} has ${body.length} rows; the demo takes at most ${MAX_ROWS}.`);

  const issues: string[] = [];
  const seen = new Set<string>();
  const rows = body.map((cells, i) => {
    const line = i + 1 + HEADER_LINES;
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
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(
      `${path} can't be read (${error instanceof Error && "code" in error ? String(error.code) : "?"}).`,
      { cause: error },
    );
  }
  return parseRows(text, path);
}
