import { DIALLED_MODES } from "../../../shared/contracts/records/lead.ts";
import type { AttemptFacts, PlacedCall } from "../../../shared/contracts/records/attempt.ts";
import type { LeadDoc, OutboxEntry } from "../leads.model.ts";
import { answered, dialing, ringing } from "./lead-events.ts";

/** What an attempt's write tells beside its own event: in front of it, where `guard` holds, with what is kept so that it is told once. */
export interface CallNews {
  guard: Record<string, unknown>;
  marks: Record<string, unknown>;
  events: OutboxEntry[];
  /** What of the call stands in the lead's record. */
  fields: Record<string, unknown>;
}

/** Nothing. */
export const NO_NEWS: CallNews = { guard: {}, marks: {}, events: [], fields: {} };

type Told = Pick<LeadDoc, "attempt" | "execution_mode" | "call_direction">;

/** When it happened, as an event tells it: neither before what came before it nor in the future, whatever the dialer's clock says. */
const within = (at: Date, from: Date, to: Date): Date => (at < from ? from : at > to ? to : at);

/** Where the recording of the call will be, unless the lead knows already that there will be none. */
const recordingNews = ({ recording_url }: PlacedCall, unrecorded: boolean): CallNews =>
  recording_url === undefined || unrecorded
    ? NO_NEWS
    : { ...NO_NEWS, guard: { "attempt.unrecorded": null }, fields: { recording_url } };

/**
 * That the carrier took the call, that the phone rang, and where the recording will be, where the lead has not been told: by the write that says that it was answered or is over, so that
 * none of it takes a write of its own where calls are answered or end soon. After the answer nothing of it is told.
 */
export function callNews(
  { attempt, execution_mode, call_direction }: Told,
  claim_no: number,
  call: PlacedCall | undefined,
  now: Date,
): CallNews {
  const isOurs = DIALLED_MODES.includes(execution_mode) && call_direction === "OUTBOUND";
  if (call === undefined || attempt === null || attempt.answered_at !== undefined || !isOurs) return NO_NEWS;
  const { dialing_at, ringing_at, unrecorded = false } = attempt;
  const recording = recordingNews(call, unrecorded);
  const placed_at = dialing_at ?? within(new Date(call.placed_at), attempt.claimed_at, now);
  const rings = call.ringing_at !== null && ringing_at === undefined;
  const rang_at = call.ringing_at === null ? now : within(new Date(call.ringing_at), placed_at, now);
  const events = [
    ...(dialing_at === undefined ? [dialing(placed_at, claim_no, call.call_id)] : []),
    ...(rings ? [ringing(rang_at, claim_no)] : []),
  ];
  if (events.length === 0) return recording;
  return {
    guard: { ...recording.guard, "attempt.dialing_at": dialing_at ?? null, "attempt.ringing_at": ringing_at ?? null },
    marks: { "attempt.dialing_at": placed_at, ...(rings ? { "attempt.ringing_at": rang_at } : {}) },
    events,
    fields: { ...recording.fields, call_id: call.call_id, call_initiated_time: new Date(call.placed_at) },
  };
}

/** The same at the attempt's end, and that the conversation began, where the lead could not be told while it was held. */
export function endNews(
  lead: Told,
  claim_no: number,
  call: PlacedCall | undefined,
  facts: Pick<AttemptFacts, "ended" | "talk" | "answered_at">,
  now: Date,
): CallNews {
  if (facts.ended === "not_dialled") return NO_NEWS;
  const news = callNews(lead, claim_no, call, now);
  const { attempt } = lead;
  if (facts.talk === null || attempt === null || attempt.answered_at !== undefined) return news;
  const before = news.events.at(-1)?.at ?? attempt.ringing_at ?? attempt.dialing_at ?? attempt.claimed_at;
  const at = facts.answered_at === null ? now : within(new Date(facts.answered_at), before, now);
  return {
    ...news,
    guard: { ...news.guard, "attempt.answered_at": null },
    events: [...news.events, answered(at, claim_no)],
  };
}
