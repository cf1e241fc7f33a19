import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import type { ProcessLoad } from "./sessions/load-meter.ts";
import type { Places } from "./sessions/sound-stages.ts";

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
  | { ask: "sounds" }
  | { ask: "stop" };

/** The end of a conversation. */
export interface Settled {
  lead_id: string;
  /** The outcome that the conversation decided. */
  decided: string | null;
  transcript: { role: string; content: string }[];
  errors: string[];
}

/** What the process was like since it was asked last. `open`: what keeps it alive, counted by kind. `rooms`: its processes of LiveKit rooms. */
export interface Measured extends ProcessLoad {
  open: Record<string, number>;
  rooms: ProcessLoad[];
}

/** Its messages: an answer to each request, and the end of each conversation. */
export type ProcessMessage =
  | { told: "ready" }
  | { told: "done" }
  | { told: "prepared"; urls: string[] }
  | ({ told: "measured" } & Measured)
  | { told: "sounds"; places: Places }
  | ({ told: "settled" } & Settled);
