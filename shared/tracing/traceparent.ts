import { sha256 } from "../ids.ts";

/** A place in a trace, as the header `traceparent` of W3C Trace Context names it. */
export interface TraceParent {
  /** 16 bytes in hex. */
  trace_id: string;
  /** 8 bytes in hex: the span that the next one belongs to. */
  span_id: string;
  sampled: boolean;
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = "0".repeat(32);
const NO_SPAN = "0".repeat(16);
/** A version that there never will be. */
const NO_VERSION = "ff";
const FIRST_VERSION = "00";
const SAMPLED = 1;
const SPAN_DIGITS = 16;
/** Digits of a trace's id that are random whoever made it, at its end (W3C Trace Context Level 2, 3.2.2.3), of which some decide. */
const DECIDING_DIGITS = 8;

/** Reads the header (W3C Trace Context, 3.2); null: it is not well formed, and counts as none. A later version is read as far as this one goes. */
export function parseTraceparent(text: string): TraceParent | null {
  const [, version = "", trace_id = "", span_id = "", flags = "", more] = FORM.exec(text) ?? [];
  if (version === "" || version === NO_VERSION || trace_id === NO_TRACE || span_id === NO_SPAN) return null;
  if (version === FIRST_VERSION && more !== undefined) return null;
  return { trace_id, span_id, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

/** The header's text. */
export const formatTraceparent = ({ trace_id, span_id, sampled }: TraceParent): string =>
  `${FIRST_VERSION}-${trace_id}-${span_id}-${sampled ? "01" : "00"}`;

/**
 * The id of a span of a trace: the same on every node, so that a process names as parent what another one sends, perhaps hours later, and what is sent twice
 * is one span.
 */
export const spanIdOf = (trace_id: string, key: string): string => sha256(`${trace_id} ${key}`).slice(0, SPAN_DIGITS);

/** Whether a trace is one of this share of all: the same answer for a trace in every process. */
export const isChosen = (trace_id: string, ratio: number): boolean =>
  Number.parseInt(trace_id.slice(-DECIDING_DIGITS), 16) < ratio * 16 ** DECIDING_DIGITS;
