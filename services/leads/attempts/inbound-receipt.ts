import type { ResultOf, ServiceDeps } from "../../../shared/bus.ts";
import { fail } from "../../../shared/errors.ts";
import { maskPhone } from "../../../shared/log.ts";
import { inboundDocument, type InboundCall } from "./inbound-lead.ts";
import { INBOUND_STATE } from "../rules/lead-state-machine.ts";
import type { LeadsRepository } from "../leads.repository.ts";

/** Makes the lead of an inbound call, once: its id is the caller's word for the call. STORE_UNAVAILABLE. */
export async function receiveInboundLead(
  deps: ServiceDeps,
  leads: LeadsRepository,
  p: InboundCall,
): Promise<ResultOf<"leads.receive">> {
  const [written] = await leads.insert([inboundDocument(p, deps.clock.now())]);
  if (written === "failed" || written === undefined)
    fail("STORE_UNAVAILABLE", "the lead of an inbound call could not be written; ask again");
  const made = written === "written";
  if (made)
    deps.log.info(
      { event: "lead.received", lead_id: p.lead_id, from: p.from && maskPhone(p.from), template_id: p.template_id },
      "somebody called us; their lead is made",
    );
  return { lead_id: p.lead_id, claim_no: INBOUND_STATE.claim_no, made };
}
