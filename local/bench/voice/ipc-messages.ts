import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";

/** The resolution of loop lag; reported lag has it subtracted. */
export const LAG_RESOLUTION_MS = 5;

/** A conversation to prepare. */
export interface ConversationToPrepare {
  lead_id: string;
  template_id: string;
  payload: Record<string, string>;
  /** A client joins it over a socket of its own; absent: a carrier's stream. */
  session?: boolean;
}

/** What the process under measurement is asked, one thing at a time. */
export type ProcessRequest =
  | { ask: "template"; template: TemplateRecord }
  | { ask: "prepare"; calls: ConversationToPrepare[] }
  | { ask: "measure" }
  | { ask: "stop" };

/** The end of a conversation. */
export interface Settled {
  lead_id: string;
  /** The outcome that the conversation decided. */
  decided: string | null;
  transcript: { role: string; content: string }[];
  errors: string[];
}

/** What the process was like since it was asked last. `open`: what keeps it alive, counted by kind. */
export interface Measured {
  cpu_percent: number;
  rss_mb: number;
  lag_p50_ms: number;
  lag_p99_ms: number;
  lag_max_ms: number;
  open: Record<string, number>;
}

/** Its messages: an answer to each request, and the end of each conversation. */
export type ProcessMessage =
  | { told: "ready" }
  | { told: "done" }
  | { told: "prepared"; urls: string[] }
  | ({ told: "measured" } & Measured)
  | ({ told: "settled" } & Settled);
