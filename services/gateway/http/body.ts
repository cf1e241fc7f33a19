import type { IncomingMessage } from "node:http";
import { charsetOf, decodedText, isUtf8, markedCharset } from "../../../shared/text/encoded-text.ts";
import { inexactNumberIn } from "../../../shared/text/exact-numbers.ts";
import { fail } from "../../../shared/errors.ts";
import { isRecord, MAX_JSON_DEPTH } from "../../../shared/json.ts";
import { namesIn, repeatedNameIn } from "./repeated-names.ts";
import { unstorableIn } from "../../../shared/database/storable.ts";

/** Largest body taken. */
export const BODY_LIMIT_BYTES = 262_144;

/** JSON, also where a format of its own is built on it (RFC 6839), with whatever parameters. */
export const JSON_TYPE = /^application\/(?:json|[a-z0-9!#$&^_.-]+\+json)[ \t]*(?:;|$)/i;
/** Fatal: bytes that are not UTF-8 are refused rather than replaced. The mark at the start stays, so that text and bytes are the same thing. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const tooLarge = (limit: number): never =>
  fail("BODY_TOO_LARGE", `The body is larger than ${limit / 1024} KiB; send less at once.`);

const hungUp = (): never => fail("MALFORMED_JSON", "The body ended before it was complete.");

/** The body's exact bytes. MALFORMED_JSON when the client hangs up before its end. BODY_TOO_LARGE past the limit: the rest is read and thrown away by the server, within its time-out. */
export function readBytes(req: IncomingMessage, limit: number = BODY_LIMIT_BYTES): Promise<Buffer> {
  const larger = (): never => tooLarge(limit);
  if (Number(req.headers["content-length"] ?? 0) > limit) return Promise.reject(failure(larger));
  if (req.destroyed && !req.complete) return Promise.reject(failure(hungUp)); // it tells so once only, and that was before
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else {
        chunks.length = 0;
        reject(failure(larger));
      }
    });
    req.once("end", () => {
      resolve(Buffer.concat(chunks));
    });
    // a client that hangs up: nobody reads the answer, and it is no fault of ours
    req.once("error", () => reject(failure(hungUp)));
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

/** A half of a character, which only an escape can bring into UTF-8 text. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

const refuse = (message: string): never =>
  fail("VALIDATION_FAILED", `It ${message}.`, { errors: [{ path: "", message }] });

/** Refuses `__proto__` properties at any depth, names that are repeated, halves of characters, and what is nested too deep. Works on the parsed value, without recursion. */
function refuseUnsafe(value: unknown, text: string): void {
  const mayHoldHalves = SURROGATE_ESCAPE.test(text);
  const isHalf = (part: unknown): boolean => mayHoldHalves && typeof part === "string" && !part.isWellFormed();
  const open: { value: unknown; depth: number }[] = [{ value, depth: 1 }];
  let names = 0;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (isHalf(at.value)) refuse("holds half of a character (a lone surrogate)");
    if (typeof at.value !== "object" || at.value === null) continue;
    if (at.depth > MAX_JSON_DEPTH) refuse(`is nested deeper than ${MAX_JSON_DEPTH} levels`);
    if (Object.hasOwn(at.value, "__proto__")) refuse('has a property named "__proto__"');
    if (mayHoldHalves && Object.keys(at.value).some(isHalf)) refuse("holds half of a character (a lone surrogate)");
    const values = Object.values(at.value);
    if (!Array.isArray(at.value)) names += values.length;
    for (const inner of values) open.push({ value: inner, depth: at.depth + 1 });
  }
  if (names !== namesIn(text)) refuseRepeated(text);
}

/** Of a name that an object has twice JSON.parse keeps the last value, and another reader the first. */
function refuseRepeated(text: string): void {
  const path = repeatedNameIn(text);
  if (path === null) return;
  const message = "is given more than once in the same object";
  fail("MALFORMED_JSON", `${path} ${message}.`, { errors: [{ path, message }] });
}

/** A number that no double holds would be another one, in the call and in the report. */
function refuseInexact(text: string): void {
  const path = inexactNumberIn(text);
  if (path === null) return;
  const message = "is a number with more digits than JSON's readers keep; send it as a text, in quotes";
  fail("VALIDATION_FAILED", `${path} ${message}.`, { errors: [{ path, message }] });
}

/** A JSON body's value; undefined for no body. UNSUPPORTED_MEDIA_TYPE, MALFORMED_JSON, VALIDATION_FAILED (too deep, or of names that no document can hold). */
export function parseJson(bytes: Buffer, headers: IncomingMessage["headers"]): unknown {
  if (bytes.length === 0) return undefined;
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity")
    fail("UNSUPPORTED_MEDIA_TYPE", "Compressed bodies are not taken; send the body without Content-Encoding.");
  if (!JSON_TYPE.test(headers["content-type"] ?? ""))
    fail("UNSUPPORTED_MEDIA_TYPE", "Send the body as JSON in UTF-8, with the header Content-Type: application/json.");
  requireUtf8(headers);
  return jsonValue(bytes);
}

/** Whether a request says that its body is UTF-8, as JSON is (RFC 8259, 8.1), or nothing of it. UNSUPPORTED_MEDIA_TYPE. */
export function requireUtf8(headers: IncomingMessage["headers"]): void {
  const charset = charsetOf(headers["content-type"]);
  if (charset !== null && !isUtf8(charset))
    fail("UNSUPPORTED_MEDIA_TYPE", `The charset ${charset.slice(0, 40)} is not taken; send the body in UTF-8.`);
}

/** Whether bytes begin as those of UTF-8 may. MALFORMED_JSON names the charset of another byte order mark. */
export function requireUtf8Mark(bytes: Uint8Array): void {
  const charset = markedCharset(bytes);
  if (charset !== null && !isUtf8(charset))
    fail("MALFORMED_JSON", `It is ${charset.toUpperCase()} text, by its byte order mark; send it in UTF-8.`);
}

/** Where the parser stopped, without its words, which quote the body; empty where it does not say. */
function placeOf(error: unknown): string {
  const message = isRecord(error) ? String(error["message"]) : "";
  const [, line, column] = /line (\d+) column (\d+)/.exec(message) ?? [];
  if (line !== undefined) return ` at line ${line}, column ${column}`;
  return message.includes("end of JSON input") ? ": it ends too early" : "";
}

/** The value that bytes of JSON stand for. MALFORMED_JSON, VALIDATION_FAILED (too deep, or of names that no document can hold). */
export function jsonValue(bytes: Buffer): unknown {
  requireUtf8Mark(bytes);
  const { text, fault } = decodedText(bytes);
  if (fault !== null) return fail("MALFORMED_JSON", "It is not UTF-8 text.");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    fail("MALFORMED_JSON", `It is not valid JSON${placeOf(error)}; check quotes, commas and brackets.`);
  }
  refuseUnsafe(value, text);
  refuseUnstorable(value);
  refuseInexact(text);
  return value;
}
