import type { ErrorCode } from "../../../shared/errors.ts";

/** One row of a bulk body as it came: its bytes, or why there are none. */
export type RawRow = { bytes: Buffer } | { code: ErrorCode; message: string };

/** Cuts a body that arrives in pieces into rows. It keeps the unfinished row only. */
export interface RowCutter {
  /** The rows that this piece completes. */
  take(chunk: Buffer): RawRow[];
  /** What is left when the body has ended. */
  end(): RawRow[];
}

const NEW_LINE = 0x0a,
  QUOTE = 0x22,
  COMMA = 0x2c,
  BACKSLASH = 0x5c,
  OPEN_ARRAY = 0x5b,
  CLOSE_ARRAY = 0x5d,
  OPEN_OBJECT = 0x7b,
  CLOSE_OBJECT = 0x7d;
const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === NEW_LINE || byte === 0x0d;

/** Buffer of one row; past `maxBytes` they are counted, not kept. */
function rowBuffer(maxBytes: number) {
  let parts: Buffer[] = [];
  let size = 0;
  return {
    isEmpty: (): boolean => size === 0,
    add(part: Buffer): void {
      size += part.length;
      if (size <= maxBytes) parts.push(Buffer.from(part)); // a copy: the piece it is cut from may go
      else parts = [];
    },
    /** The row so far; it begins anew. */
    finish(): RawRow {
      const row: RawRow =
        size > maxBytes
          ? { code: "BODY_TOO_LARGE", message: `The row is larger than ${maxBytes / 1024} KiB.` }
          : { bytes: Buffer.concat(parts) };
      parts = [];
      size = 0;
      return row;
    },
  };
}

/** The byte order mark of UTF-8, which some write at the beginning of a file, and so of each of several that are put together. */
const MARK = [0xef, 0xbb, 0xbf] as const;
const withoutMark = (bytes: Buffer): Buffer =>
  MARK.every((byte, i) => bytes[i] === byte) ? bytes.subarray(MARK.length) : bytes;

const isEmpty = (row: RawRow): boolean => "bytes" in row && withoutMark(row.bytes).every(isBlank);

/** Rows of newline-delimited JSON. Blank lines are no rows. */
export function lineCutter(maxRowBytes: number): RowCutter {
  const row = rowBuffer(maxRowBytes);
  return {
    take(chunk) {
      const rows: RawRow[] = [];
      let from = 0;
      for (let at = chunk.indexOf(NEW_LINE); at >= 0; at = chunk.indexOf(NEW_LINE, from)) {
        const line = chunk.subarray(from, at);
        from = at + 1;
        // millions of blank lines cost no more than their bytes
        if (row.isEmpty() && line.every(isBlank)) continue;
        row.add(line);
        rows.push(row.finish());
      }
      row.add(chunk.subarray(from));
      return rows.filter((r) => !isEmpty(r));
    },
    end: () => [row.finish()].filter((r) => !isEmpty(r)),
  };
}

/** The body is not an array: nothing in it is a row. */
export class NoArray extends Error {}

const unclosed = (message: string): RawRow => ({ code: "MALFORMED_JSON", message });

/** State of a cutter of arrays: before `[`, inside, after `]`, or lost (brackets that don't match end the reading). */
type ArrayState = "before" | "inside" | "after" | "lost";

/** Follows the bytes inside an array: strings, escapes and nesting. */
class ArrayScanner {
  #depth = 0;
  #inString = false;
  #escaped = false;

  /** What the byte is: the end of a row, the end of the array, a bracket that closes nothing, or content. */
  next(byte: number): "row" | "end" | "mismatch" | "content" {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.#inString = false;
      return "content";
    }
    if (byte === QUOTE) this.#inString = true;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.#depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (this.#depth === 0) return byte === CLOSE_ARRAY ? "end" : "mismatch";
      this.#depth--;
    }
    return byte === COMMA && this.#depth === 0 ? "row" : "content";
  }
}

/** Rows of a JSON array: the texts between its commas, each to be parsed on its own, so that a broken one is only one row. Throws NoArray. */
export function arrayCutter(maxRowBytes: number): RowCutter {
  const row = rowBuffer(maxRowBytes);
  const scanner = new ArrayScanner();
  let state: ArrayState = "before";
  let rowsSeen = 0;
  let marks = 0;

  const finish = (rows: RawRow[]): void => {
    const done = row.finish();
    if (state === "after" && rowsSeen === 0 && isEmpty(done)) return; // []
    rowsSeen++;
    rows.push(
      state === "lost"
        ? unclosed("A bracket here closes nothing; this row and what follows can't be told apart.")
        : done,
    );
  };
  const outside = (byte: number, rows: RawRow[]): void => {
    if (isBlank(byte) || state === "lost") return;
    if (state === "before" && byte === OPEN_ARRAY) {
      state = "inside";
      return;
    }
    if (state === "before" && byte === MARK[marks++]) return;
    if (state === "before") throw new NoArray("the body is no JSON array");
    state = "lost";
    rows.push(unclosed("Something follows the end of the array; it was not read."));
  };
  return {
    take(chunk) {
      const rows: RawRow[] = [];
      let from = 0;
      for (let at = 0; at < chunk.length; at++) {
        const byte = chunk[at] ?? 0;
        if (state !== "inside") {
          outside(byte, rows);
          from = at + 1;
          continue;
        }
        const found = scanner.next(byte);
        if (found === "content") continue;
        if (found !== "row") state = found === "end" ? "after" : "lost";
        row.add(chunk.subarray(from, at));
        from = at + 1;
        finish(rows);
      }
      if (state === "inside") row.add(chunk.subarray(from));
      return rows;
    },
    end() {
      if (state === "before") throw new NoArray("the body is no JSON array");
      return state === "inside" ? [unclosed("The array is not closed; this row was not taken.")] : [];
    },
  };
}
