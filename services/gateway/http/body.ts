import type { IncomingMessage } from "node:http";
import { fail } from "../../../shared/errors.ts";
import { isRecord } from "../../../shared/json.ts";
import { unstorableIn } from "../../../shared/database/storable.ts";

/** Largest body taken. */
export const BODY_LIMIT_BYTES = 262_144;
/** Deepest nesting of a JSON body; what is deeper only serves to break readers. */
const MAX_DEPTH = 64;

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i;
/** Fatal: bytes that are not UTF-8 are refused rather than replaced. The mark at the start stays, so that text and bytes are the same thing. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const tooLarge = (): never =>
  fail("BODY_TOO_LARGE", `The body is larger than ${BODY_LIMIT_BYTES / 1024} KiB; send less at once.`);

/** The body's exact bytes. BODY_TOO_LARGE past the limit: the rest is read and thrown away by the server, within its time-out. */
export function readBytes(req: IncomingMessage): Promise<Buffer> {
  if (Number(req.headers["content-length"] ?? 0) > BODY_LIMIT_BYTES) return Promise.reject(failure(tooLarge));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= BODY_LIMIT_BYTES) chunks.push(chunk);
      else {
        chunks.length = 0;
        reject(failure(tooLarge));
      }
    });
    req.once("end", () => {
      resolve(Buffer.concat(chunks));
    });
    req.once("error", reject);
  });
}

function failure(thrower: () => never): unknown {
  try {
    return thrower();
  } catch (error) {
    return error;
  }
}

/** Bytes as text; null when they are not UTF-8. Encoding the text gives the same bytes back. */
export function textOf(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/** Fields whose contents the leads service judges with the lead that they are part of. */
const JUDGED_WITH_LEAD: readonly string[] = ["payload", "configurations_override"];

/** VALIDATION_FAILED for a property that no document can hold. */
function refuseUnstorable(value: unknown): void {
  const rest = isRecord(value)
    ? Object.fromEntries(Object.entries(value).filter(([name]) => !JUDGED_WITH_LEAD.includes(name)))
    : value;
  const unstorable = unstorableIn(rest);
  if (unstorable) fail("VALIDATION_FAILED", `${unstorable.path} ${unstorable.message}.`, { errors: [unstorable] });
}

/** Removes `__proto__` properties at any depth and refuses what is nested too deep. Works on the parsed value, without recursion. */
function disarm(value: unknown): void {
  const open: { value: unknown; depth: number }[] = [{ value, depth: 1 }];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (typeof at.value !== "object" || at.value === null) continue;
    if (at.depth > MAX_DEPTH)
      fail("VALIDATION_FAILED", `It is nested deeper than ${MAX_DEPTH} levels.`, {
        errors: [{ path: "", message: `is nested deeper than ${MAX_DEPTH} levels` }],
      });
    if (Object.hasOwn(at.value, "__proto__")) Reflect.deleteProperty(at.value, "__proto__");
    for (const inner of Object.values(at.value)) open.push({ value: inner, depth: at.depth + 1 });
  }
}

/** A JSON body's value; undefined for no body. UNSUPPORTED_MEDIA_TYPE, MALFORMED_JSON, VALIDATION_FAILED (too deep, or of names that no document can hold). */
export function parseJson(bytes: Buffer, headers: IncomingMessage["headers"]): unknown {
  if (bytes.length === 0) return undefined;
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity")
    fail("UNSUPPORTED_MEDIA_TYPE", "Compressed bodies are not taken; send the body without Content-Encoding.");
  if (!JSON_TYPE.test(headers["content-type"] ?? ""))
    fail("UNSUPPORTED_MEDIA_TYPE", "Send the body as JSON in UTF-8, with the header Content-Type: application/json.");
  return jsonValue(bytes);
}

/** The value that bytes of JSON stand for. MALFORMED_JSON, VALIDATION_FAILED (too deep, or of names that no document can hold). */
export function jsonValue(bytes: Buffer): unknown {
  const text = textOf(bytes);
  if (text === null) return fail("MALFORMED_JSON", "It is not UTF-8 text.");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    fail("MALFORMED_JSON", "It is not valid JSON; check quotes, commas and brackets.");
  }
  disarm(value);
  refuseUnstorable(value);
  return value;
}
