import type { ResultOf } from "../../../shared/bus/bus.ts";
import type { CallHistory, CarrierEventHistory } from "../../../shared/contracts/dialer.ts";
import type { TimelineEvent } from "../../../shared/contracts/records/lead-views.ts";
import type { DeliveryRecord } from "../../../shared/contracts/webhook.ts";
import { newestFitting } from "../../../shared/batching.ts";
import { isRecord } from "../../../shared/json.ts";
import type { HistoryEntry, LeadDoc } from "../leads.model.ts";

type Source = TimelineEvent["source"];

/** Every event there is, in the order in which things happen: it decides between facts of one instant. */
export const EVENTS = [
  "left_out",
  "queued",
  "received",
  "holder_silent",
  "claimed",
  "dial_intended",
  "dial_prevented",
  "dial_undone",
  "pre_checked",
  "placed",
  "callback",
  "ringing",
  "answered",
  "media_joined",
  "hang_up_wanted",
  "talk_ended",
  "ended",
  "noted",
  "given_back",
  "resumed",
  "retry",
  "finished",
  "dropped",
  "aborted",
  "abort_refused",
  "closed",
  "report_queued",
  "report_tried",
  "report_due_again",
] as const;
type EventName = (typeof EVENTS)[number];

const EVENT_ORDER = new Map<string, number>(EVENTS.map((name, i) => [name, i]));

/** All that was recorded of one lead. */
export interface Recorded {
  lead: Pick<LeadDoc, "created_at"> & { history: readonly HistoryEntry[] };
  calls: ResultOf<"dialer.history">;
  deliveries: readonly DeliveryRecord[];
}

const timelineEvent = (
  at: string | null,
  source: Source,
  event: EventName,
  details: Record<string, unknown>,
): TimelineEvent[] =>
  at === null
    ? []
    : [
        {
          at,
          source,
          event,
          details: Object.fromEntries(Object.entries(details).filter(([, v]) => v !== null && v !== undefined)),
        },
      ];

const instant = (v: unknown): string | null =>
  typeof v === "string" && Number.isFinite(Date.parse(v)) ? new Date(v).toISOString() : null;

/** The results of an attempt's pre-checks that an entry keeps, each at its own time where it has one. */
const fromChecks = (results: unknown, claim_no: unknown, at: string): TimelineEvent[] =>
  Array.isArray(results)
    ? results
        .filter(isRecord)
        .flatMap((r) => timelineEvent(instant(r["at"]) ?? at, "dialer", "pre_checked", { claim_no, ...r }))
    : [];

/** A transition of the lead. The end of an attempt also gives its conversation's facts and the result of each pre-check. */
function fromHistory({ event, at, details }: HistoryEntry): TimelineEvent[] {
  const { talk, pre_check_results, ...rest } = details;
  const { ended_at } = rest;
  const move: TimelineEvent = { at: new Date(at).toISOString(), source: "leads", event, details: rest };
  const checks = fromChecks(pre_check_results, rest["claim_no"], move.at);
  // Facts that contain only results are shown as results.
  if (event === "noted" && checks.length > 0 && Object.keys(rest).length === 1) return checks;
  return isRecord(talk)
    ? [
        ...timelineEvent(typeof ended_at === "string" ? ended_at : move.at, "conversation", "talk_ended", {
          claim_no: rest["claim_no"],
          ...talk,
        }),
        ...checks,
        move,
      ]
    : [...checks, move];
}

/** A lead from before histories were kept, or whose history is longer than what is kept, was queued all the same. */
const beginning = ({ lead }: Recorded): TimelineEvent[] =>
  lead.history.some((h) => h.event === "queued" || h.event === "received")
    ? []
    : timelineEvent(lead.created_at.toISOString(), "leads", "queued", {});

/** Results of pre-checks may be recorded twice: when they arrive, and at the end of the attempt. */
function once(events: TimelineEvent[]): TimelineEvent[] {
  const seen = new Set<string>();
  return events.filter((e) => {
    const what = e.source === "dialer" ? JSON.stringify(e.details) : null;
    if (what === null) return true;
    if (seen.has(what)) return false;
    seen.add(what);
    return true;
  });
}

function fromCall(c: CallHistory): TimelineEvent[] {
  const { claim_no, call_id } = c;
  if (c.state === "VOID") return timelineEvent(c.intended_at, "dialer", "dial_prevented", { claim_no });
  return [
    ...(c.direction === "INBOUND"
      ? []
      : timelineEvent(c.intended_at, "dialer", "dial_intended", { claim_no, provider: c.provider })),
    ...(c.ended === "not_dialled"
      ? timelineEvent(c.ended_at, "dialer", "dial_undone", { claim_no, cause: c.cause })
      : []),
    ...timelineEvent(c.placed_at, "dialer", "placed", { claim_no, call_id }),
    ...timelineEvent(c.ringing_at, "carrier", "ringing", { claim_no, call_id }),
    ...timelineEvent(c.answered_at, "carrier", "answered", { claim_no, call_id, machine: c.machine }),
    ...timelineEvent(c.joined_at, "conversation", "media_joined", { claim_no }),
    ...timelineEvent(c.ended === "not_dialled" ? null : c.ended_at, "carrier", "ended", {
      claim_no,
      call_id,
      ended: c.ended,
      cause: c.cause,
      hang_up: c.hang_up,
      hangup_source: c.hangup_source,
      talk_seconds: c.talk_seconds,
    }),
    ...timelineEvent(c.closed_at, "dialer", "closed", { claim_no, cost: c.cost, cost_currency: c.cost_currency }),
  ];
}

const fromCallback = (e: CarrierEventHistory): TimelineEvent[] =>
  timelineEvent(e.received_at, "carrier", "callback", {
    call_ref: e.call_ref,
    kind: e.kind,
    steps: e.steps,
    applied: e.applied,
    note: e.note,
  });

const fromDelivery = (d: DeliveryRecord): TimelineEvent[] => [
  ...timelineEvent(d.created_at, "webhook", "report_queued", { delivery_id: d.id }),
  ...d.tries.flatMap((t) =>
    timelineEvent(t.at, "webhook", "report_tried", {
      delivery_id: d.id,
      status: t.status,
      error: t.error,
      duration_ms: t.duration_ms,
    }),
  ),
  ...(d.state === "pending" && d.tries.length > 0
    ? timelineEvent(d.next_try_at, "webhook", "report_due_again", { delivery_id: d.id })
    : []),
];

/** The newest of the events, as many as fit into a message; the first of them says how many there were before. */
function newestOf(events: TimelineEvent[]): TimelineEvent[] {
  const kept = newestFitting(events);
  const [first] = kept;
  return kept.length === events.length || first === undefined
    ? kept
    : [...timelineEvent(first.at, "leads", "left_out", { events: events.length - kept.length }), ...kept];
}

/** Everything recorded, in order of time; facts of one instant in the order in which such things happen. Where it is too much for a message, the oldest is left out. */
export function timelineOf(recorded: Recorded): TimelineEvent[] {
  const events = [
    ...beginning(recorded),
    ...once(recorded.lead.history.flatMap(fromHistory)),
    ...recorded.calls.calls.flatMap(fromCall),
    ...recorded.calls.carrier_events.flatMap(fromCallback),
    ...recorded.deliveries.flatMap(fromDelivery),
  ];
  const place = (e: TimelineEvent): number => EVENT_ORDER.get(e.event) ?? EVENTS.length;
  return newestOf(events.sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || place(a) - place(b)));
}
