import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import { fail } from "../../../shared/errors.ts";
import { maskPhone } from "../../../shared/process/log.ts";
import { isE164 } from "../../../shared/phone.ts";
import { errorCodeOf } from "../../../shared/tracing/spans.ts";
import type { LeadDeps } from "../deps.ts";
import { toClaimed } from "../lists/lead-views.ts";
import { announceQueues } from "../queues/queue-notice.ts";
import * as machine from "../rules/lead-state-machine.ts";

import { callNews, endNews, NO_NEWS } from "../rules/call-news.ts";
import type { Lease } from "../rules/lead-transition.ts";
import { boundedFacts, boundedResults } from "../rules/attempt-record.ts";
import { nextTryAt, technicalFault, withFault } from "../rules/faults.ts";
import { settle as decide } from "../rules/settlement.ts";
import type { LeadState } from "../leads.model.ts";
import { traceAttempt, tracePush, traceWait } from "../lead-spans.ts";
import { inboundDocument, isInboundCall, type InboundCall } from "./inbound-lead.ts";

/** Notices of turns, or of a call, that may come between the reading of a lead and what is written of it. */
const MAX_RACES = 5;

/** Claims leads, each by compare-and-set on what was seen of it. */
export async function claimMany(
  { clock, leads, traces }: LeadDeps,
  { items, lease_seconds }: ParamsOf<"leads.claimMany">,
): Promise<ResultOf<"leads.claimMany">> {
  const now = clock.now();
  const lease_until = plusSeconds(now, lease_seconds);
  const claims = items.map(({ lead_id, due_at, claim_no, attempt }) =>
    machine.claim({ lead_id, due_at: new Date(due_at), claim_no }, { ...attempt, claimed_at: now }, lease_until, now),
  );
  const claimed = await leads.claimMany(claims);
  claimed.forEach((lead, i) => {
    const due_at = items[i]?.due_at;
    if (lead && due_at !== undefined) traceWait(traces, lead, new Date(due_at), now);
  });
  return { claimed: claimed.map((lead) => lead && toClaimed(lead)) };
}

/** Says that the conversation of an attempt begins, behind what of its call was not told yet; null: that was said before, or the lease is lost. */
async function begin(
  leads: LeadDeps["leads"],
  p: ParamsOf<"leads.extend">,
  lease_until: Date,
  now: Date,
  races = MAX_RACES,
): Promise<LeadState | null> {
  const lead = p.placed === undefined ? null : await leads.byLease(p.lead_id);
  const news = lead?.claim_no === p.claim_no ? callNews(lead, p.claim_no, p.placed, now) : NO_NEWS;
  const begun = await leads.transition(machine.answer(p, lease_until, now, news));
  // it may have been told of its call meanwhile
  return begun === null && news !== NO_NEWS && races > 0 ? begin(leads, p, lease_until, now, races - 1) : begun;
}

/** Renews the lease of a claimed lead, and the first time with `answered` says that its conversation begins; done false: it is lost. */
export async function renewLease(
  { clock, leads }: LeadDeps,
  p: ParamsOf<"leads.extend">,
): Promise<ResultOf<"leads.extend">> {
  const now = clock.now();
  const lease_until = plusSeconds(now, p.lease_seconds);
  const begun = p.answered === true ? await begin(leads, p, lease_until, now) : null;
  const renewed = begun ?? (await leads.transition(machine.renewLease(p, lease_until)));
  if (renewed) return { done: true };
  return { done: false, outcome: (await leads.byLease(p.lead_id))?.outcome ?? null };
}

/**
 * Releases an attempt that a technical fault stopped before it dialled anything: the lead waits for longer with each fault in a row, and is parked after several of them, or at once. False: the
 * race was lost.
 */
export async function releaseForFault(
  { clock, leads, log, random, bus, traces }: LeadDeps,
  lease: Lease,
  lead: LeadState,
  fault: { code: string; reason: string; recovered?: boolean },
): Promise<boolean> {
  const now = clock.now();
  const { code, reason, recovered = false } = fault;
  const faults = withFault(lead.faults, code, now, recovered);
  const due_at = nextTryAt(faults, now, random());
  const released = await leads.transition(machine.releaseForFault(lease, lead, faults, due_at, reason, now, recovered));
  if (!released) return false;
  traceAttempt(traces, lead, { outcome: null, error: code }, now);
  announceQueues({ bus }, [released]);
  const parked = faults.parked_at !== undefined;
  const fields = { lead_id: lead._id, code, faults: faults.count, until: due_at.toISOString() };
  if (parked && lead.faults?.parked_at === undefined)
    log.warn({ event: "lead.parked", ...fields }, "technical faults keep a lead from being dialled; it is parked");
  else
    log.info(
      { event: "lead.held", why: reason, parked, ...fields },
      "a technical fault: lead released, no attempt spent",
    );
  return true;
}

/** Releases an attempt that dialled nothing; the lead waits again. */
export async function release(deps: LeadDeps, p: ParamsOf<"leads.release">): Promise<ResultOf<"leads.release">> {
  const { clock, leads, log } = deps;
  const lead = await leads.byLease(p.lead_id);
  if (!lead || lead.claim_no !== p.claim_no || isInboundCall(lead)) return { done: false };
  if (p.fault !== undefined) return { done: await releaseForFault(deps, p, lead, { code: p.fault, reason: p.reason }) };
  const now = clock.now();
  const due_at = new Date(p.due_at);
  const released = await leads.transition(
    p.pre_check
      ? machine.releaseForPreCheck(
          p,
          lead,
          due_at,
          { ...p.pre_check, results: boundedResults(p.pre_check.results) },
          now,
        )
      : machine.release(p, lead, due_at, p.reason, now),
  );
  if (!released) return { done: false };
  traceAttempt(deps.traces, lead, { outcome: null }, now);
  announceQueues(deps, [released]);
  log.info(
    { event: "lead.held", lead_id: p.lead_id, why: released.held?.why ?? p.reason, until: p.due_at },
    "lead released, no attempt spent",
  );
  return { done: true };
}

/** Finishes a waiting lead that must not be dialled. */
export async function drop(
  { clock, leads, onFinished }: LeadDeps,
  { lead_id, due_at, outcome, reason }: ParamsOf<"leads.drop">,
): Promise<ResultOf<"leads.drop">> {
  const lead = await leads.byLease(lead_id);
  if (!lead) return { done: false };
  const seen = { lead_id, due_at: new Date(due_at) };
  const dropped = await leads.transition(machine.drop(seen, lead, outcome, reason, clock.now()));
  if (dropped) onFinished(dropped);
  return { done: dropped !== null };
}

/**
 * Puts a callee who asked not to be called again on the blacklist, before the attempt is settled: where that fails, nothing is settled, and whoever
 * settles comes again. Whoever withholds the number can't be listed.
 */
async function recordWish({ bus, clock, log }: LeadDeps, lead: LeadState): Promise<void> {
  const { _id: lead_id, reseller_id, merchant_id, phone_number } = lead;
  if (phone_number === null || !isE164(phone_number)) {
    log.warn({ event: "lead.wish_unlisted", lead_id }, "a caller without a number asked not to be called");
    return;
  }
  const asked_at = clock.now().toISOString();
  await bus.call("blacklist.recordWish", { reseller_id, merchant_id, phone_number, lead_id, asked_at });
}

/** Writes the end of an attempt: RETRY or FINISHED, decided once from its facts. */
export async function settle(
  deps: LeadDeps,
  p: ParamsOf<"leads.settle">,
  races = MAX_RACES,
): Promise<ResultOf<"leads.settle">> {
  const { clock, leads, log, onFinished } = deps;
  const lead = await leads.byLease(p.lead_id);
  const lost = { done: false, status: lead?.status ?? null, outcome: lead?.outcome ?? null };
  // also where the race for the lead was lost: the wish was uttered all the same
  if (lead && p.facts.talk?.do_not_call === true) await recordWish(deps, lead);
  if (!lead || lead.claim_no !== p.claim_no || lead.status !== "PROCESSING" || !lead.attempt) return lost;
  // a dialer or scheduler of the version before ends what it should release
  const code = lead.call_direction === "INBOUND" ? null : technicalFault(p.facts);
  if (code !== null) {
    const done = await releaseForFault(deps, p, lead, { code, reason: code });
    return { ...lost, done };
  }
  const now = clock.now();
  // a conversation or a dialer of the version before sets no bounds
  const facts = boundedFacts(p.facts);
  const settlement = decide(facts, lead.attempt.policy, lead.attempt_count, now);
  const news = endNews(lead, p.claim_no, p.placed, facts, now);
  const more = { end_call: p.end_call, news };
  const settled = await leads.transition(
    settlement.kind === "retry"
      ? machine.retry(p, lead, facts, settlement, now, more)
      : machine.finish(p, lead, facts, settlement.outcome, now, more),
  );
  // a turn may have been told meanwhile, or that it rings
  const mayRace = facts.talk?.turns !== undefined || news !== NO_NEWS;
  if (!settled) return mayRace && races > 0 ? settle(deps, p, races - 1) : lost;
  traceAttempt(deps.traces, lead, { outcome: settlement.outcome, facts, error: errorCodeOf(facts.error) }, now);
  if (p.end_call === true) deps.onCallEndOwed();
  if (lead.faults !== undefined && facts.ended !== "not_dialled") deps.onFaultOver(lead.faults.code);
  if (settlement.kind === "finish") onFinished(settled);
  else {
    announceQueues(deps, [settled]);
    const { outcome: after, due_at } = settlement;
    log.info(
      { event: "lead.retry", lead_id: settled._id, after, attempt: settled.attempt_count, due_at },
      "attempt ended, the lead will be called again",
    );
  }
  return { done: true, status: settled.status, outcome: settled.outcome };
}

/** Makes the lead of an inbound call, once: the asker gives its id. STORE_UNAVAILABLE. */
export async function receive(
  { clock, leads, log, traces }: LeadDeps,
  call: InboundCall,
): Promise<ResultOf<"leads.receive">> {
  const { lead_id, from, template_id } = call;
  const [began, begun] = [clock.now(), traces.begin({ joins: false })];
  const doc = { ...inboundDocument(call, began), ...(begun && { trace: begun.trace }) };
  const [written] = await leads.insert([doc]);
  if (written === "failed" || written === undefined)
    fail("STORE_UNAVAILABLE", "the lead of an inbound call could not be written; ask again");
  const made = written === "written";
  if (made) tracePush(traces, begun, doc, began, clock.now());
  if (made)
    log.info(
      { event: "lead.received", lead_id, from: from && maskPhone(from), template_id },
      "inbound call: lead made",
    );
  return { lead_id, claim_no: machine.INBOUND_STATE.claim_no, made };
}
