import type { ServiceDeps } from "../../../shared/bus.ts";
import { DIALLED_MODES, type WaitingLead } from "../../../shared/contracts/lead.ts";
import { maskPhone } from "../../../shared/log.ts";
import type { FactsOf } from "../admission-inputs.ts";
import type { Facts } from "./gates.ts";

/** Every fact of one lead for an instant, all asked afresh: what a pass collects for many, for explain. */
export async function factsOfLead(ground: ServiceDeps, facts: FactsOf, lead: WaitingLead, at: Date): Promise<Facts> {
  const queue = {
    queue: lead.lead_id,
    template_id: lead.template_id,
    reseller_id: lead.reseller_id,
    merchant_id: lead.merchant_id,
    configurations_override: lead.configurations_override,
  };
  const [of = { queue, plan: null, pauses: { deployment: null, merchant: null } }] = await facts.queues([queue]);
  if (of.failed !== undefined) throw of.failed;
  const country = facts.country(lead.phone_number);
  const dialled = lead.phone_number !== null && DIALLED_MODES.includes(lead.execution_mode);
  const [[rings = { rate: null, carrier: null }], lines, checked] = await Promise.all([
    facts.rings([of]),
    dialled ? facts.lines(of, country) : null,
    dialled && lead.phone_number !== null
      ? ground.bus.call("blacklist.check", {
          pairs: [{ reseller_id: lead.reseller_id, phone_number: lead.phone_number }],
        })
      : null,
  ]);
  return {
    at,
    lead: { ...lead, masked: lead.phone_number === null ? null : maskPhone(lead.phone_number) },
    plan: of.plan,
    pauses: of.pauses,
    blacklisted: checked?.listed[0] ?? null,
    country,
    lines,
    ...rings,
  };
}
