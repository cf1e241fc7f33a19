import type { ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus.ts";
import { plusSeconds } from "../../../shared/clock.ts";
import { announceQueues } from "../queues/queue-notice.ts";
import * as machine from "../rules/lead-state-machine.ts";
import { toClaimed, type FinishedDoc } from "../lists/lead-views.ts";
import type { LeadsRepository } from "../leads.repository.ts";
import { annotateLead } from "./annotation.ts";
import { settle as decide } from "../rules/settlement.ts";

type Answer<N extends "leads.claimMany" | "leads.settle" | "leads.release" | "leads.annotate" | "leads.drop"> = Promise<
  ResultOf<N>
>;

/** The moves of an attempt, from claim to settle, each one guarded write. `onFinished` runs once for every lead that reaches FINISHED. */
export function attemptTransitions(deps: ServiceDeps, leads: LeadsRepository, onFinished: (lead: FinishedDoc) => void) {
  return {
    async claimMany(p: ParamsOf<"leads.claimMany">): Answer<"leads.claimMany"> {
      const now = deps.clock.now();
      const until = plusSeconds(now, p.lease_seconds);
      const claims = p.items.map((i) =>
        machine.claim(
          { lead_id: i.lead_id, due_at: new Date(i.due_at), claim_no: i.claim_no },
          { ...i.attempt, claimed_at: now },
          until,
          now,
        ),
      );
      return {
        claimed: (await leads.transitionMany(claims)).map((lead) => lead && toClaimed(lead)),
      };
    },

    async release(p: ParamsOf<"leads.release">): Answer<"leads.release"> {
      const lead = await leads.byLease(p.lead_id);
      // a call of somebody to us can't be given back: it never waits
      if (!lead || lead.claim_no !== p.claim_no || lead.call_direction === "INBOUND") return { done: false };
      const now = deps.clock.now();
      const due_at = new Date(p.due_at);
      const moved = await leads.transition(
        p.pre_check
          ? machine.releaseForPreCheck(p, lead, due_at, p.pre_check, now)
          : machine.release(p, lead, due_at, p.reason, now, false),
      );
      if (moved) {
        announceQueues(deps, [moved]);
        deps.log.info(
          { event: "lead.held", lead_id: p.lead_id, why: moved.held?.why ?? p.reason, until: p.due_at },
          "lead given back, no attempt spent",
        );
      }
      return { done: moved !== null };
    },

    async drop(p: ParamsOf<"leads.drop">): Answer<"leads.drop"> {
      const lead = await leads.byLease(p.lead_id);
      const moved =
        lead &&
        (await leads.transition(
          machine.drop({ lead_id: p.lead_id, due_at: new Date(p.due_at) }, lead, p.outcome, p.reason, deps.clock.now()),
        ));
      if (moved) onFinished(moved);
      return { done: moved !== null };
    },

    async settle(p: Pick<ParamsOf<"leads.settle">, "lead_id" | "claim_no" | "facts">): Answer<"leads.settle"> {
      const lead = await leads.byLease(p.lead_id);
      const lost = { done: false, status: lead?.status ?? null, outcome: lead?.outcome ?? null };
      if (!lead || lead.claim_no !== p.claim_no || lead.status !== "PROCESSING" || !lead.attempt) return lost;
      const now = deps.clock.now();
      const settlement = decide(p.facts, lead.attempt.policy, lead.attempt_count, now);
      const moved = await leads.transition(
        settlement.kind === "retry"
          ? machine.retry(p, lead, p.facts, settlement, now)
          : machine.finish(p, lead, p.facts, settlement.outcome, now),
      );
      if (!moved) return lost;
      if (settlement.kind === "finish") onFinished(moved);
      else {
        announceQueues(deps, [moved]);
        deps.log.info(
          {
            event: "lead.retry",
            lead_id: moved._id,
            after: settlement.outcome,
            attempt: moved.attempt_count,
            due_at: settlement.due_at,
          },
          "attempt ended, the lead will be called again",
        );
      }
      return { done: true, status: moved.status, outcome: moved.outcome };
    },

    annotate: (p: ParamsOf<"leads.annotate">): Answer<"leads.annotate"> => annotateLead(deps, leads, p),
  };
}
