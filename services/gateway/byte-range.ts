import type { ByteRange } from "../../shared/storage/port.ts";

/** What of a thing is asked for: all of it, a part, or a part that it does not have. */
export type Asked = { kind: "whole" } | { kind: "part"; range: ByteRange } | { kind: "beyond" };

const WHOLE: Asked = { kind: "whole" };
/** Digits beyond this are no length of anything. */
const RANGE = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i;

/**
 * Reads `Range` (RFC 9110, 14) for a thing of so many bytes. One range is served; several, other units and what is malformed are ignored, as the standard allows.
 * `same` false: the client holds a part of another thing (`If-Range`), so it gets all of this one.
 */
export function rangeAsked(header: string | undefined, bytes: number, same: boolean): Asked {
  const [, first = "", last = ""] = RANGE.exec(header ?? "") ?? [];
  if (!same || (first === "" && last === "")) return WHOLE;
  if (first === "") {
    const length = Math.min(Number(last), bytes);
    return length === 0 ? { kind: "beyond" } : { kind: "part", range: { start: bytes - length, end: bytes - 1 } };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return WHOLE;
  if (start >= bytes) return { kind: "beyond" };
  return { kind: "part", range: { start, end: last === "" ? bytes - 1 : Math.min(Number(last), bytes - 1) } };
}
