import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { fail, Failure } from "../../../shared/errors.ts";
import { BODY_LIMIT_BYTES, JSON_TYPE, jsonValue, requireUtf8, requireUtf8Mark } from "../http/body.ts";
import type { BulkForm } from "./row-answers.ts";
import { arrayCutter, lineCutter, NoArray, type RawRow, type RowCutter } from "./row-cutter.ts";

/** Largest bulk body. */
export const BULK_LIMIT_BYTES = 8_388_608;
/** Rows taken from one body. */
export const MAX_ROWS = 10_000;
/** Rows past MAX_ROWS that are still refused one by one; one answer covers all that follow. */
export const MAX_REFUSED_ROWS = 1000;
/** Rows handed over at once; fewer where they are long, so that a batch fits into one message of the bus. */
export const BATCH_ROWS = 100;
const BATCH_BYTES = 262_144;

const LINES_TYPE = /^application\/(?:x-ndjson|ndjson|jsonl)[ \t]*(?:;|$)/i;

/** A row that was read, or why it could not be. */
export type BulkRow = { value: unknown } | { error: unknown };

/** The form of a bulk body by its headers. UNSUPPORTED_MEDIA_TYPE. */
export function formOf(headers: IncomingHttpHeaders): BulkForm {
  if (headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity")
    fail("UNSUPPORTED_MEDIA_TYPE", "Compressed bodies are not taken; send the body without Content-Encoding.");
  const type = headers["content-type"] ?? "";
  const lines = LINES_TYPE.test(type);
  if (!lines && !JSON_TYPE.test(type))
    fail(
      "UNSUPPORTED_MEDIA_TYPE",
      "Send one JSON object per line with Content-Type: application/x-ndjson, or a JSON array with Content-Type: application/json, in UTF-8.",
    );
  requireUtf8(headers);
  return lines ? "lines" : "array";
}

const tooLarge = (): Failure =>
  new Failure(
    "BODY_TOO_LARGE",
    `The body is larger than ${BULK_LIMIT_BYTES / 1_048_576} MiB; the rows from here on were not taken. Send them in another request.`,
  );
const tooMany = (): Failure =>
  new Failure("BODY_TOO_LARGE", `At most ${MAX_ROWS} rows are taken at once; send this one in another request.`);
const restRefused = (): Failure =>
  new Failure("BODY_TOO_LARGE", "This row and all that follow were not read; send them in another request.");

function rowOf(raw: RawRow): BulkRow {
  if ("code" in raw) return { error: new Failure(raw.code, raw.message) };
  try {
    return { value: jsonValue(raw.bytes) };
  } catch (error) {
    return { error };
  }
}

/** Rows of the body in order, as their pieces arrive: the client is read no faster than rows are taken from here. */
async function* rawRows(req: IncomingMessage, cutter: RowCutter): AsyncGenerator<RawRow> {
  let size = 0;
  try {
    for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (size === 0) requireUtf8Mark(chunk);
      size += chunk.length;
      if (size > BULK_LIMIT_BYTES) throw tooLarge();
      yield* cutter.take(chunk);
    }
    yield* cutter.end();
  } catch (error) {
    if (error instanceof NoArray)
      fail(
        "MALFORMED_JSON",
        "The body is not a JSON array; send [ and the leads with commas between them, or one lead per line as application/x-ndjson.",
      );
    throw error;
  }
}

/**
 * The body's rows in batches, which depend on the rows alone and never on when they arrive: a repeated body falls into the same ones.
 * Throws BODY_TOO_LARGE where the body grows past its limit (rows yielded before stay valid), MALFORMED_JSON when it is no array.
 */
export async function* batchesOf(req: IncomingMessage, form: BulkForm): AsyncGenerator<BulkRow[]> {
  if (Number(req.headers["content-length"] ?? 0) > BULK_LIMIT_BYTES) throw tooLarge();
  let rows: BulkRow[] = [],
    bytes = 0,
    seen = 0;
  for await (const raw of rawRows(
    req,
    form === "lines" ? lineCutter(BODY_LIMIT_BYTES) : arrayCutter(BODY_LIMIT_BYTES),
  )) {
    seen++;
    if (seen > MAX_ROWS + MAX_REFUSED_ROWS) {
      rows.push({ error: restRefused() });
      break;
    }
    rows.push(seen > MAX_ROWS ? { error: tooMany() } : rowOf(raw));
    bytes += "bytes" in raw ? raw.bytes.length : 0;
    if (rows.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
    yield rows;
    rows = [];
    bytes = 0;
  }
  if (rows.length > 0) yield rows;
}
