import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import type { ClaimedLead } from "../../../shared/contracts/records/lead.ts";
import { jsonBytes } from "../../../shared/json.ts";
import type { StageResult } from "../dispositions.ts";
import type { ReservedLead } from "./reserve-slots.ts";

/** A reserved lead whose claim this replica won. */
export interface WonLead extends ReservedLead {
  claimed: ClaimedLead;
}

/** What an answer to a claim holds of a lead beside its payload, in bytes. */
const CLAIMED_BYTES = 2000;

const claimOf = ({ admitted: { lead, plan, configuration }, slot }: ReservedLead) => ({
  lead_id: lead.lead_id,
  due_at: lead.due_at,
  claim_no: lead.claim_no,
  attempt: {
    number_id: slot.id,
    provider: slot.provider,
    template_version: plan.version,
    policy: {
      max_retry: configuration.max_retry,
      retry_offset: configuration.retry_offset,
      retry_on: plan.retry_on,
    },
  },
});

/** Bytes of a lead's claim on the bus: of its part of the request or of the answer, which carries the payload, whichever is more. */
export const claimBytes = (reserved: ReservedLead): number =>
  Math.max(jsonBytes(claimOf(reserved)), (reserved.admitted.lead.payload_bytes ?? 0) + CLAIMED_BYTES);

/** Claims reserved leads in one request. The slots of those that another replica, or the end of the lead, took are not used. */
export async function claim(
  reserved: readonly ReservedLead[],
  { bus, env }: Pick<ServiceDeps, "bus" | "env">,
): Promise<StageResult<WonLead>> {
  const items = reserved.map(claimOf);
  const { claimed } = await bus.call("leads.claimMany", { lease_seconds: env.LEASE_SECONDS, items });
  const ok: WonLead[] = [];
  const lost: string[] = [];
  reserved.forEach((r, i) => {
    const won = claimed[i];
    if (won) ok.push({ ...r, claimed: won });
    else lost.push(r.holder);
  });
  return { ok, deferred: lost.length === 0 ? [] : [{ kind: "slots", holders: lost }], dropped: [] };
}
