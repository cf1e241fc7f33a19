import { inSlices } from "../../../shared/in-slices.ts";
import { admit, type Admission } from "../admission/admission.ts";
import type { Chosen } from "./pick-fairly.ts";
import type { Facts } from "../admission/gates.ts";
import { putAside, type Dialable } from "./admit-queues.ts";
import type { Works } from "../deps.ts";

/** A lead that every gate lets through but the line, which shows when one is taken. */
export interface Admitted extends Chosen, Dialable {
  facts: Facts;
}

type Drop = Extract<Admission, { verdict: "drop" }>;

/** Leads ended side by side. */
const DROPS_AT_ONCE = 20;

async function listed({ ground }: Works, chosen: readonly Chosen[]): Promise<(boolean | null)[]> {
  const enforced = chosen.filter((c) => c.open.facts.plan?.configuration?.enforce_blacklist);
  if (enforced.length === 0) return chosen.map(() => null);
  const answer = await ground.bus.call("blacklist.check", {
    pairs: enforced.map(({ lead }) => ({ reseller_id: lead.reseller_id, phone_number: lead.phone_number })),
  });
  const known = new Map(enforced.map((c, i) => [c, answer.listed[i] ?? true]));
  return chosen.map((c) => known.get(c) ?? null);
}

/** Ends a lead that must not be called. Expired ones are ended template by template (expiring.ts). */
export async function dropLead(w: Works, { open, lead }: Chosen, { outcome, reason }: Drop): Promise<void> {
  try {
    await w.ground.bus.call("leads.drop", { lead_id: lead.lead_id, due_at: lead.due_at, outcome, reason });
  } catch (error) {
    putAside(w, open.queue.queue, error);
  }
}

/** Judges the chosen leads one by one. Drops are carried out here, but for expired leads, which are named in `expired`. */
export async function gateLeads(
  w: Works,
  chosen: readonly Chosen[],
): Promise<{ admitted: Admitted[]; expired: Chosen[] }> {
  const now = w.ground.clock.now();
  const blacklisted = await listed(w, chosen);
  const admitted: Admitted[] = [];
  const drops: { chosen: Chosen; verdict: Drop }[] = [];
  chosen.forEach((c, i) => {
    const { plan, pauses } = c.open.facts;
    const facts: Facts = {
      at: now,
      lead: { ...c.lead, masked: null },
      plan,
      pauses,
      blacklisted: blacklisted[i] ?? null,
      country: w.facts.country(c.lead.phone_number),
      lines: null,
      rate: c.open.rate,
      carrier: c.open.carrier,
    };
    const verdict = admit(facts);
    if (verdict.verdict === "drop") drops.push({ chosen: c, verdict });
    else if (verdict.verdict === "admit" && plan?.configuration)
      admitted.push({ ...c, plan, configuration: plan.configuration, facts });
  });
  await inSlices(
    drops.filter((d) => d.verdict.outcome !== "EXPIRED"),
    DROPS_AT_ONCE,
    (d) => dropLead(w, d.chosen, d.verdict),
  );
  return { admitted, expired: drops.filter((d) => d.verdict.outcome === "EXPIRED").map((d) => d.chosen) };
}
