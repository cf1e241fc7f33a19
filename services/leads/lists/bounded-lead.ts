import { smallestFitting } from "../../../shared/batching.ts";
import { jsonBytes } from "../../../shared/json.ts";
import { boundedTranscript } from "../../../shared/talk-bounds.ts";

/** Most bytes of a lead as it is shown, as JSON; leads of older versions may hold more. */
export const LEAD_BYTES = 450_000;
/** Most bytes of the metaData of a webhook event, as JSON: its transcript and variables stand in the event twice. */
export const EVENT_META_BYTES = 235_000;
/** What the marker itself takes, and the names in it. */
const MARKER_BYTES = 16_384;
const MAX_NAMED = 20;
const MAX_NAME_CHARS = 100;

type Fields = Record<string, unknown>;

const shortened = (names: readonly string[]): string[] =>
  names.slice(0, MAX_NAMED).map((name) => name.slice(0, MAX_NAME_CHARS));

const listIn = (fields: Fields, name: string): unknown[] => {
  const value = fields[name];
  return Array.isArray(value) ? value : [];
};

/** Cuts the oldest lines of the transcript until the metadata fit, and says so among the errors. */
function withShorterTranscript(meta: Fields, bytes: number): Fields {
  const lines = listIn(meta, "transcription");
  const room = bytes - MARKER_BYTES - jsonBytes({ ...meta, transcription: [] });
  const node = String(listIn(meta, "node_traversal").at(-1) ?? "").slice(0, MAX_NAME_CHARS);
  const { lines: kept, cut } = boundedTranscript(lines, node, Math.max(room, 0));
  return cut === null ? meta : { ...meta, transcription: kept, errors: [...listIn(meta, "errors"), cut] };
}

/**
 * metaData within so many bytes: of the transcript the oldest lines go, then whatever is largest, named in `left_out`. Where it fits
 * (which leads of this version do), it is what it was.
 */
export function boundedMeta(meta: Fields, bytes: number): Fields {
  if (jsonBytes(meta) <= bytes) return meta;
  const shorter = withShorterTranscript(meta, bytes);
  const { kept, left } = smallestFitting(shorter, bytes - MARKER_BYTES);
  return left.length === 0 ? shorter : { ...kept, left_out: shortened(left) };
}

/** A lead's payload and metaData within LEAD_BYTES together; what is left out of the payload is named in metaData. */
export function boundedLead<Lead extends { payload: Fields; metaData: Fields }>(lead: Lead): Lead {
  if (jsonBytes(lead) <= LEAD_BYTES) return lead;
  const room = LEAD_BYTES - jsonBytes({ ...lead, payload: {}, metaData: {} }) - MARKER_BYTES;
  const { kept: payload, left } = smallestFitting(lead.payload, room);
  const said = left.map((name) => `payload.${name}`);
  const metaData = boundedMeta(lead.metaData, Math.max(room - jsonBytes(payload), MARKER_BYTES));
  const before = listIn(metaData, "left_out").map(String);
  return {
    ...lead,
    payload,
    metaData: left.length === 0 ? metaData : { ...metaData, left_out: shortened([...before, ...said]) },
  };
}
