import { DateTime } from "luxon";
import { recencyCache } from "../../../shared/cache.ts";
import { maskPhone } from "../../../shared/process/log.ts";
import type { LedgerEntry } from "./ledger-stream.ts";
import type { LogLine } from "../stack/child-group.ts";

/** How a part of a line is painted on a terminal. */
export type Paint = (format: "dim" | "green" | "cyan" | "yellow" | "red", text: string) => string;

/** Lines of the console; null for what is not shown. */
export interface ConsoleLines {
  /** A service's log line. */
  fromLog(line: LogLine, now: Date): string | null;
  /** A ledger entry of the simulated carrier: the words of calls come from it, the services never log them. */
  fromLedger(entry: LedgerEntry): string | null;
}

const SHORT = 8;
const WORD = 10;
/** Calls whose lead is known; more than are under way at once on a laptop. */
const MOST_CALLS = 10_000;
/** What a terminal would obey: whoever pushes a lead or speaks in a call chooses texts, and may move no cursor and make no line. */
const CONTROLS = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
const text = (value: unknown): string =>
  value === undefined || value === null ? "-" : String(value).replaceAll(CONTROLS, "\u{FFFD}");
const short = (id: unknown): string => (typeof id === "string" ? text(id).slice(0, SHORT) : "-".repeat(SHORT));

/** What is said of a lead: the word of its event, and the rest of the line. */
type Said = readonly [string, string];
type Instant = (value: unknown) => string;

const FROM_LOG: Record<string, (l: LogLine, at: Instant) => Said> = {
  "lead.queued": (l) => ["queued", `${text(l["request_id"])} for ${text(l["to"])}`],
  "call.dialling": (l) => ["dialling", text(l["to"])],
  "lead.retry": (l, at) => ["retry", `after ${text(l["after"])}, again at ${at(l["due_at"])}`],
  "lead.held": (l, at) => ["held back", `${text(l["why"])} until ${at(l["until"])}`],
  "lead.finished": (l) => ["finished", `${text(l["outcome"])} after ${text(l["attempts"])} attempt(s)`],
  "lead.recovered": (l) => ["recovered", text(l["verdict"])],
  "webhook.delivered": (l) => ["webhook", `delivered (HTTP ${text(l["status"])})`],
  "webhook.again": (l, at) => ["webhook", `failed (${text(l["status"] ?? l["error"])}), again at ${at(l["at"])}`],
};

/** A real carrier tells its calls to the services alone. */
const CALLS_FROM_LOG: typeof FROM_LOG = {
  "call.ringing": (l) => ["ringing", text(l["to"])],
  "call.answered": (l) => ["answered", text(l["to"])],
  "call.ended": (l) => ["call ended", text(l["to"])],
};

const FROM_LEDGER: Record<string, (e: LedgerEntry) => Said> = {
  ring: (e) => ["ringing", maskPhone(text(e.to))],
  answer: (e) => ["answered", maskPhone(text(e.to))],
  heard: (e) => ["agent:", `${text(e.text)}${e.interrupted ? " [interrupted]" : ""}`],
  said: (e) => ["customer:", text(e.text)],
  dtmf: (e) => ["pressed", text(e.digit)],
  hangup: (e) => ["call ended", `${text(e.status)} (by ${text(e.by)})`],
};

const COLOURS: Record<string, Parameters<Paint>[0]> = { "agent:": "cyan", "customer:": "green", finished: "green" };
/** Warnings about what npm start itself has set, which are for whoever runs a deployment: the first line that a newcomer reads is no alarm. */
const OWN_SETTINGS: ReadonlySet<unknown> = new Set(["shutdown.grace_short"]);
/** What the broker says of a service that is asked before it has started, or while it starts again: whoever asks tries again. */
const NOT_YET_THERE = /^Service '[\w.]+' is not registered\.$/;
const isOrderOfStart = ({ mod, msg = "" }: LogLine): boolean => mod === "broker" && NOT_YET_THERE.test(msg);
const isAlarm = (level: unknown): boolean => level === "warn" || level === "error" || level === "fatal";

/** The lines, with times of this IANA zone (`local`: the machine's). `callsAreLogged`: calls are shown by the log, for no ledger tells them. */
export function consoleLines(o: { zone: string; paint: Paint; callsAreLogged: boolean }): ConsoleLines {
  const { zone, paint } = o;
  const events = { ...FROM_LOG, ...(o.callsAreLogged ? CALLS_FROM_LOG : {}) };
  const leads = recencyCache<string>({ max: MOST_CALLS });
  const clock = (at: Date): string => DateTime.fromJSDate(at, { zone }).toFormat("HH:mm:ss.SSSZZ");
  const instant: Instant = (value) => {
    const at = DateTime.fromISO(text(value), { zone });
    return at.isValid ? at.toFormat("yyyy-MM-dd HH:mm:ssZZ") : text(value);
  };
  const line = (at: Date, lead: unknown, [word, rest]: Said, colour = COLOURS[word]): string => {
    const said = `${word.padEnd(WORD)}  ${rest}`;
    const whose = lead === null ? "" : `lead ${short(lead)}  `;
    return `${paint("dim", clock(at))}  ${whose}${colour === undefined ? said : paint(colour, said)}`;
  };
  return {
    fromLog(logged, now) {
      const known = events[logged.event ?? ""];
      if (known) return line(now, logged["lead_id"], known(logged, instant));
      if (!isAlarm(logged.level) || OWN_SETTINGS.has(logged.event) || isOrderOfStart(logged)) return null;
      const { level, msg, event, message, code } = logged;
      const facts = [event, code, message].filter((one) => one !== undefined).map(text);
      const of = facts.length === 0 ? "" : ` (${facts.join(", ")})`;
      return line(
        now,
        logged["lead_id"] ?? null,
        [text(level), `${text(msg)}${of}`],
        level === "warn" ? "yellow" : "red",
      );
    },
    fromLedger(entry) {
      const { call_sid = "", reference } = entry;
      if (typeof reference === "string") leads.set(call_sid, reference);
      const known = FROM_LEDGER[entry.kind];
      return known ? line(new Date(entry.at), leads.get(call_sid), known(entry)) : null;
    },
  };
}
