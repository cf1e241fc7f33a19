import type { Static } from "../../../shared/contracts/define.ts";
import type { LeadEventName } from "../../../shared/contracts/events/catalogue.ts";
import type { LeadFacts, leadEvents } from "../../../shared/contracts/events/lead-events.ts";
import type { AttemptFacts, Evaluation, TalkTurn } from "../../../shared/contracts/records/attempt.ts";
import type { AttemptSnapshot, Faults, OutboxEntry } from "../leads.model.ts";
import { sourceOf } from "./outcomes.ts";

/** What of an event's data is read from the lead when the event is published: it does not change any more by then. */
type FromLead<N extends LeadEventName> =
  | keyof typeof LeadFacts
  | (N extends "lead.finished" ? "attempt_count" | "call_id" : never);
type DataOf<N extends LeadEventName> = Omit<Static<(typeof leadEvents)[N]["data"]>, FromLead<N>>;

const entry = <N extends LeadEventName>(type: N, at: Date, data: DataOf<N>): OutboxEntry => ({ type, at, data });

/** Longest texts of an event's data, as the catalogue bounds them. */
const MAX_WORD = 64;
const MAX_REASON = 300;
const MAX_ASKER = 100;
const MAX_SCORES = 50;
const cut = (text: string | null, max: number): string | null => text && text.slice(0, max);

/** The lead waits; `due_at` null: for a client to join. */
export const queued = (
  at: Date,
  because: "pushed" | "released" | "resumed",
  due_at: Date | null,
  reason: string | null = null,
): OutboxEntry =>
  entry("lead.queued", at, { because, due_at: due_at?.toISOString() ?? null, reason: cut(reason, MAX_REASON) });

/** An attempt begins. */
export const claimed = (
  at: Date,
  claim_no: number,
  { provider, number_id, template_version }: Pick<AttemptSnapshot, "provider" | "number_id" | "template_version">,
): OutboxEntry => entry("lead.claimed", at, { claim_no, provider, number_id, template_version });

/** The carrier took the call. */
export const dialing = (at: Date, claim_no: number, call_id: string): OutboxEntry =>
  entry("lead.dialing", at, { claim_no, call_id: cut(call_id, MAX_REASON) });

/** The phone rings. */
export const ringing = (at: Date, claim_no: number): OutboxEntry => entry("lead.ringing", at, { claim_no });

/** The conversation begins. */
export const answered = (at: Date, claim_no: number): OutboxEntry => entry("lead.answered", at, { claim_no });

/** Technical faults keep the lead from being dialled. */
export const parked = (at: Date, { code, count }: Faults, due_at: Date | null): OutboxEntry =>
  entry("lead.parked", at, {
    code: code.slice(0, MAX_WORD),
    faults: count,
    due_at: due_at?.toISOString() ?? null,
  });

/** The evaluation is there; of its scores as many as an event names. */
export const evaluated = (at: Date, claim_no: number, { trace_scores, summary, errors }: Evaluation): OutboxEntry =>
  entry("lead.evaluated", at, {
    claim_no,
    trace_scores: Object.fromEntries(Object.entries(trace_scores).slice(0, MAX_SCORES)),
    summary: summary !== null,
    errors: errors.length,
  });

/** What the attempt cost is known. */
export const priced = (at: Date, claim_no: number, cost: number): OutboxEntry =>
  entry("cost.known", at, { claim_no, cost });

/** The recording of the attempt is stored, under this name of its call. */
export const recorded = (at: Date, claim_no: number, call_id: string | null): OutboxEntry =>
  entry("recording.stored", at, { claim_no, call_id: cut(call_id, MAX_REASON) });

/** The lead is over, with this outcome. */
export const finished = (at: Date, outcome: string): OutboxEntry =>
  entry("lead.finished", at, { outcome: outcome.slice(0, MAX_WORD) });

/** Turns of the conversation, behind so many that were told before. */
export const turned = (at: Date, claim_no: number, told: number, turns: readonly TalkTurn[]): OutboxEntry[] =>
  turns.map(({ by, node, at: said }, i) =>
    entry("lead.turn", at, { claim_no, turn: told + i + 1, by, node: node.slice(0, MAX_WORD), at: said }),
  );

/** Somebody aborted the lead, which is over by that. */
export const aborted = (at: Date, by: string): OutboxEntry[] => [
  entry("lead.aborted", at, { by: by.slice(0, MAX_ASKER) }),
  finished(at, "ABORTED"),
];

/** An attempt is over, and what becomes of the lead: another one at `due_at`, or its end. `told`: so many turns of its conversation were told before. */
export function ended(
  at: Date,
  claim_no: number,
  facts: AttemptFacts,
  word: string,
  due_at: Date | null,
  told: number,
): OutboxEntry[] {
  const outcome = word.slice(0, MAX_WORD);
  const dialled = facts.ended !== "not_dialled";
  return [
    ...turned(at, claim_no, told, (facts.talk?.turns ?? []).slice(told)),
    entry("lead.ended", at, {
      claim_no,
      outcome,
      dialled,
      ended: facts.ended,
      hangup_source: dialled ? sourceOf(facts) : null,
      call_id: cut(facts.call_id, MAX_REASON),
      started_at: facts.started_at,
      answered_at: facts.answered_at,
      ended_at: facts.ended_at,
      user_turns: facts.talk?.user_turns ?? null,
    }),
    due_at === null ? finished(at, word) : entry("lead.retry", at, { claim_no, outcome, due_at: due_at.toISOString() }),
    ...(facts.evaluation ? [evaluated(at, claim_no, facts.evaluation)] : []),
  ];
}
