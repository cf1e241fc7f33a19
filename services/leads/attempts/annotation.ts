import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { unstorableIn } from "../../../shared/database/storable.ts";
import { smallestFitting } from "../../../shared/batching.ts";
import { PUSH_BYTES } from "../../../shared/contracts/records/pushed-lead.ts";
import { PRE_CHECK_BYTES } from "../../../shared/contracts/records/attempt.ts";
import { jsonBytes } from "../../../shared/json.ts";
import { boundedResults, evaluationFields, evaluationHistory, preCheckHistory } from "../rules/attempt-record.ts";
import { DIALLED_MODES } from "../../../shared/contracts/records/lead.ts";
import type { OutboxEntry } from "../leads.model.ts";
import { dialing, evaluated, priced, ringing } from "../rules/lead-events.ts";
import {
  annotate,
  noteRecording,
  ring,
  talkOn,
  telling,
  UNDER_WAY,
  type LeadTransition,
} from "../rules/lead-transition.ts";
import type { LeadDeps } from "../deps.ts";

type Annotation = ParamsOf<"leads.annotate">;

/** Names of variables that pre-checks may add to the payload: what a template can name. */
const VARIABLE = /^[A-Za-z][A-Za-z0-9_]{0,99}$/;
const MAX_NAME = 100;
/** Fields of the payload that decide which number is called and where the webhook event goes; no answer from elsewhere may change them. */
const PROTECTED_FIELDS: readonly string[] = ["customer_mobile_number", "reporting_webhook_url"];
/** Variables taken from one attempt's pre-checks. */
const MAX_EXPORTED = 100;

/** Most bytes of a payload with the variables that pre-checks added to it, as JSON. */
const PAYLOAD_BYTES = PUSH_BYTES.payload + PRE_CHECK_BYTES.exported;

/** The variables that may go into the payload, and the names of those that may not: for their names, or because they are too large, alone or together. */
export function exportable(
  exported: Record<string, unknown>,
  payload: Record<string, unknown> = {},
): { taken: Record<string, unknown>; refused: string[] } {
  const fits = ([name, value]: [string, unknown], i: number): boolean =>
    i < MAX_EXPORTED &&
    VARIABLE.test(name) &&
    !PROTECTED_FIELDS.includes(name) &&
    unstorableIn({ [name]: value }) === null;
  const entries = Object.entries(exported);
  const room = Math.min(
    PRE_CHECK_BYTES.exported,
    PAYLOAD_BYTES - jsonBytes(Object.fromEntries(Object.entries(payload).filter(([name]) => !(name in exported)))),
  );
  const { kept: taken } = smallestFitting(Object.fromEntries(entries.filter(fits)), Math.max(room, 0));
  const refused = entries
    .filter(([name]) => !Object.hasOwn(taken, name))
    .map(([name]) => name.slice(0, MAX_NAME))
    .slice(0, MAX_EXPORTED);
  return { taken, refused };
}

/** The fields that the facts are kept in. */
function annotationFields(p: Annotation, taken: Record<string, unknown>): Record<string, unknown> {
  return {
    ...(p.call_id === undefined ? {} : { call_id: p.call_id }),
    ...(p.recording_url === undefined ? {} : { recording_url: p.recording_url }),
    ...(p.call_initiated_time === undefined ? {} : { call_initiated_time: new Date(p.call_initiated_time) }),
    ...(p.call_end_time === undefined ? {} : { call_end_time: new Date(p.call_end_time) }),
    ...(p.cost === undefined ? {} : { [`costs.${p.claim_no}`]: p.cost }),
    ...(p.cost_breakdown === undefined ? {} : { [`cost_items.${p.claim_no}`]: p.cost_breakdown.items }),
    ...(p.pre_check_results === undefined ? {} : { "meta.pre_check_results": boundedResults(p.pre_check_results) }),
    ...(p.evaluation === undefined ? {} : evaluationFields(p.evaluation)),
    ...Object.fromEntries(Object.entries(taken).map(([name, value]) => [`payload.${name}`, value])),
  };
}

/** What the history keeps: of variables their names, for their values are the customer's. */
function annotationHistory(
  { lead_id: _lead, claim_no: _claim, exported: _exported, evaluation, pre_check_results = [], ...details }: Annotation,
  taken: Record<string, unknown>,
  refused: string[],
): Record<string, unknown> {
  const names = Object.keys(taken);
  return {
    ...details,
    ...preCheckHistory(pre_check_results),
    ...(evaluation === undefined ? {} : { evaluation: evaluationHistory(evaluation) }),
    ...(names.length > 0 ? { exported: names } : {}),
    ...(refused.length > 0 ? { not_exported: refused } : {}),
  };
}

/** What an annotation tells for the first time: its events, where `guard` holds, and what is kept so that they are told once. */
interface News {
  guard: Record<string, unknown>;
  marks: Record<string, unknown>;
  events: OutboxEntry[];
}

/** When something happened, as its event tells it. */
const notAfter = (now: Date, at: string): Date => new Date(Math.min(now.getTime(), Date.parse(at)));

/** The call that the carrier took, and that it rings where that is known by now: of an attempt that is under way, before its answer is known. */
const placedNews = ({ claim_no, call_id, call_initiated_time = "", ringing_at }: Annotation, now: Date): News => ({
  guard: {
    ...UNDER_WAY,
    execution_mode: { $in: [...DIALLED_MODES] },
    "attempt.dialing_at": null,
    "attempt.answered_at": null,
  },
  marks: { "attempt.dialing_at": now, ...(ringing_at === undefined ? {} : { "attempt.ringing_at": now }) },
  events: [
    dialing(notAfter(now, call_initiated_time), claim_no, call_id ?? ""),
    ...(ringing_at === undefined ? [] : [ringing(notAfter(now, ringing_at), claim_no)]),
  ],
});

/** What an annotation tells. Each comes in one of its own. */
function newsOf(p: Annotation, now: Date): News | null {
  const { claim_no, call_id, call_initiated_time, cost, evaluation, recording_url } = p;
  // its address may still be on the way, with the answer
  if (recording_url === null) return { guard: UNDER_WAY, marks: { "attempt.unrecorded": true }, events: [] };
  if (call_id !== undefined && call_initiated_time !== undefined) return placedNews(p, now);
  if (cost !== undefined)
    return { guard: { [`costs.${claim_no}`]: { $ne: cost } }, marks: {}, events: [priced(now, claim_no, cost)] };
  if (evaluation === undefined) return null;
  return {
    guard: { attempt: { $ne: null }, "attempt.evaluated_at": null },
    marks: { "attempt.evaluated_at": now },
    events: [evaluated(now, claim_no, evaluation)],
  };
}

/** Writes an annotation with what it tells, or without where that was told before. */
async function written(
  leads: Pick<LeadDeps["leads"], "transition">,
  note: LeadTransition,
  news: News | null,
  now: Date,
): Promise<boolean> {
  if (news && (await leads.transition(telling(note, news, now)))) return true;
  return (await leads.transition(note)) !== null;
}

/** What comes in a message of its own, and only makes an event, or none where that was made before; undefined: this is another message. */
async function toldAlone(
  { clock, leads }: Pick<LeadDeps, "clock" | "leads">,
  { recording_stored, ringing: rings, turns, ...p }: Annotation,
): Promise<boolean | undefined> {
  const now = clock.now();
  if (turns !== undefined) return (await leads.transition(talkOn(p, turns, now))) !== null;
  const either =
    recording_stored === undefined
      ? rings && ((first: boolean) => ring(p, rings.call_id, first, now))
      : (later: boolean) => noteRecording(p, recording_stored, later, now);
  if (either === undefined) return undefined;
  for (const which of [false, true]) if (await leads.transition(either(which))) return true;
  return false;
}

/** Writes facts that come early or late; the cost of an attempt also when the next one has begun already. */
export async function annotateLead(
  deps: Pick<LeadDeps, "clock" | "leads">,
  p: Annotation,
): Promise<ResultOf<"leads.annotate">> {
  const { clock, leads } = deps;
  const done = await toldAlone(deps, p);
  if (done !== undefined) return { done };
  const { exported = {} } = p;
  const payload = Object.keys(exported).length === 0 ? {} : ((await leads.payloadOf(p.lead_id)) ?? {});
  const { taken, refused } = exportable(exported, payload);
  const fields = annotationFields(p, taken);
  const details = annotationHistory(p, taken, refused);
  if (Object.keys(details).length === 0) return { done: false };
  const now = clock.now();
  const news = newsOf(p, now);
  if (await written(leads, annotate(p, fields, details, now), news, now)) return { done: true };
  const late = {
    ...(p.cost === undefined ? {} : { cost: p.cost }),
    ...(p.cost_breakdown === undefined ? {} : { cost_breakdown: p.cost_breakdown }),
  };
  if (Object.keys(late).length === 0) return { done: false };
  const lateFields = annotationFields({ lead_id: p.lead_id, claim_no: p.claim_no, ...late }, {});
  return {
    done: await written(
      leads,
      annotate(p, lateFields, late, now, true),
      p.cost === undefined ? null : newsOf(p, now),
      now,
    ),
  };
}
