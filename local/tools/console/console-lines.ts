import type { LedgerEntry } from "./ledger-stream.ts";
import type { LogLine } from "../stack/child-group.ts";

const SHORT = 8;
const clock = (at: Date): string => at.toISOString().slice(11, 23);
const short = (id: unknown): string => (typeof id === "string" ? id.slice(0, SHORT) : "?");
/** What a terminal would obey: whoever pushes a lead or speaks in a call chooses texts, and may move no cursor and make no line. */
const CONTROLS = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
const text = (value: unknown): string =>
  value === undefined || value === null ? "-" : String(value).replaceAll(CONTROLS, "\u{FFFD}");

const FROM_LOG: Record<string, (l: LogLine) => string> = {
  "lead.queued": (l) => `lead ${short(l["lead_id"])}  queued      ${text(l["request_id"])} for ${text(l["to"])}`,
  "call.dialling": (l) => `lead ${short(l["lead_id"])}  dialling    ${text(l["to"])}`,
  "lead.retry": (l) =>
    `lead ${short(l["lead_id"])}  retry       after ${text(l["after"])}, again at ${text(l["due_at"])}`,
  "lead.held": (l) => `lead ${short(l["lead_id"])}  held back   ${text(l["why"])} until ${text(l["until"])}`,
  "lead.finished": (l) =>
    `lead ${short(l["lead_id"])}  finished    ${text(l["outcome"])} after ${text(l["attempts"])} attempt(s)`,
  "lead.recovered": (l) => `lead ${short(l["lead_id"])}  recovered   ${text(l["verdict"])}`,
  "webhook.delivered": (l) => `lead ${short(l["lead_id"])}  webhook     delivered (HTTP ${text(l["status"])})`,
  "webhook.again": (l) =>
    `lead ${short(l["lead_id"])}  webhook     failed (${text(l["status"] ?? l["error"])}), again at ${text(l["at"])}`,
};

/** A service's log line as the one line shown for it; null for what is not shown. */
export function fromLog(line: LogLine, now: Date): string | null {
  const known = line.event ? FROM_LOG[line.event] : undefined;
  if (known) return `${clock(now)}  ${known(line)}`;
  if (line.level === "error" || line.level === "fatal" || line.level === "warn")
    return `${clock(now)}  ${line.level}: ${text(line.msg)} ${text(line.event)} ${text(line["message"])}`;
  return null;
}

const FROM_LEDGER: Record<string, (e: LedgerEntry) => string> = {
  ring: (e) => `${text(e.to)}  ringing`,
  answer: (e) => `${text(e.to)}  answered`,
  heard: (e) => `${text(e.to)}  agent:    ${text(e.text)}${e.interrupted ? " [interrupted]" : ""}`,
  said: (e) => `${text(e.to)}  customer: ${text(e.text)}`,
  dtmf: (e) => `${text(e.to)}  customer pressed ${text(e.digit)}`,
  hangup: (e) => `${text(e.to)}  call ended: ${text(e.status)} (by ${text(e.by)})`,
};

/** A ledger entry as the one line shown for it; null for what is not shown. The words come from the simulated carrier: the services never log them. */
export const fromLedger = (entry: LedgerEntry): string | null => {
  const known = FROM_LEDGER[entry.kind];
  return known ? `${clock(new Date(entry.at))}  call ${known(entry)}` : null;
};
