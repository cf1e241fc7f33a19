import type { ResultOf, ServiceDeps } from "../../../shared/bus.ts";
import { fail } from "../../../shared/errors.ts";
import { maskPhone } from "../../../shared/log.ts";
import { inboundDocument, type Received } from "./inbound-lead.ts";
import { RECEIVED } from "../rules/lead-state-machine.ts";
import type { LeadsRepository } from "../leads.repository.ts";

/** Makes the lead of an inbound call, once: its id is the caller's word for the call. STORE_UNAVAILABLE. */
export async function receive(
  ground: ServiceDeps,
  leads: LeadsRepository,
  p: Received,
): Promise<ResultOf<"leads.receive">> {
  const [written] = await leads.insert([inboundDocument(p, ground.clock.now())]);
  if (written === "failed" || written === undefined)
    fail("STORE_UNAVAILABLE", "the lead of an inbound call could not be written; ask again");
  const made = written === "written";
  if (made)
    ground.log.info(
      { event: "lead.received", lead_id: p.lead_id, from: p.from && maskPhone(p.from), template_id: p.template_id },
      "somebody called us; their lead is made",
    );
  return { lead_id: p.lead_id, claim_no: RECEIVED.claim_no, made };
}
