import type { EndedBy, Entry } from "./entries.ts";

/** One line of what was spoken on a call. `agent` is what the person heard, `person` what they said or pressed. */
export interface TranscriptLine {
  at: string;
  who: "agent" | "person";
  text: string;
  interrupted?: boolean;
  /** False when the carrier could not pass the person's words on. */
  delivered?: boolean;
}

/** One call as the ledger saw it. */
export interface CallRow {
  sid: string;
  to: string;
  from: string;
  /** `inbound`: a person called us. */
  direction: "outbound" | "inbound";
  /** A reference found in the status callback's URL, null when there is none. */
  reference: string | null;
  account: string;
  status: string;
  rang: boolean;
  rings: number;
  answered: boolean;
  placed_at: string;
  started_at: string | null;
  answered_at: string | null;
  ended_at: string | null;
  ended_by: EndedBy | null;
  answered_by: string | null;
  /** Simulated seconds from answer to end. */
  simulated_seconds: number | null;
  transcript: TranscriptLine[];
}

/** Folds entries into one row per call. */
export interface CallBook {
  note(entry: Entry): void;
  rows(): CallRow[];
  row(sid: string): CallRow | undefined;
  ringsOf(to: string): number;
}

/** The oldest calls are forgotten beyond this. */
const MAX_ROWS = 100_000;

const word = (value: unknown): string => (typeof value === "string" ? value : "");
const wordOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

const ENDERS: readonly string[] = ["callee", "caller", "api", "relay_end", "carrier", "timeout"] satisfies EndedBy[];
const isEnder = (value: unknown): value is EndedBy => typeof value === "string" && ENDERS.includes(value);

function newRow(entry: Entry): CallRow {
  return {
    sid: word(entry.call_sid),
    to: word(entry.to),
    from: word(entry.from),
    direction: entry["direction"] === "inbound" ? "inbound" : "outbound",
    reference: wordOrNull(entry["reference"]),
    account: word(entry["account"]),
    status: "queued",
    rang: false,
    rings: 0,
    answered: false,
    placed_at: entry.at,
    started_at: null,
    answered_at: null,
    ended_at: null,
    ended_by: null,
    answered_by: null,
    simulated_seconds: null,
    transcript: [],
  };
}

const CHANGES: Partial<Record<Entry["kind"], (row: CallRow, entry: Entry) => void>> = {
  status: (row, e) => {
    row.status = word(e["status"]);
    if (row.status === "initiated") row.started_at = e.at;
  },
  ring: (row) => {
    row.status = "ringing";
    row.rang = true;
    row.rings += 1;
  },
  answer: (row, e) => {
    row.status = "in-progress";
    row.answered = true;
    row.answered_at = e.at;
  },
  amd: (row, e) => {
    row.answered_by = wordOrNull(e["answered_by"]);
  },
  heard: (row, e) => {
    row.transcript.push({ at: e.at, who: "agent", text: word(e["text"]), interrupted: e["interrupted"] === true });
  },
  said: (row, e) => {
    row.transcript.push({ at: e.at, who: "person", text: word(e["text"]), delivered: e["delivered"] === true });
  },
  dtmf: (row, e) => {
    row.transcript.push({
      at: e.at,
      who: "person",
      text: `[key ${word(e["digit"])}]`,
      delivered: e["delivered"] === true,
    });
  },
  hangup: (row, e) => {
    row.status = word(e["status"]);
    row.ended_at = e.at;
    row.ended_by = isEnder(e["by"]) ? e["by"] : null;
    row.simulated_seconds = typeof e["simulated_seconds"] === "number" ? e["simulated_seconds"] : null;
  },
};

/** An empty book. */
export function createCallBook(): CallBook {
  const rows = new Map<string, CallRow>();
  const rings = new Map<string, number>();
  return {
    note(entry) {
      if (entry.call_sid === undefined) return;
      if (entry.kind === "placed") {
        rows.set(entry.call_sid, newRow(entry));
        const oldest = rows.keys().next();
        if (rows.size > MAX_ROWS && !oldest.done) rows.delete(oldest.value);
      }
      if (entry.kind === "ring" && entry.to !== undefined) rings.set(entry.to, (rings.get(entry.to) ?? 0) + 1);
      const row = rows.get(entry.call_sid);
      if (row) CHANGES[entry.kind]?.(row, entry);
    },
    rows: () => [...rows.values()],
    row: (sid) => rows.get(sid),
    ringsOf: (to) => rings.get(to) ?? 0,
  };
}
