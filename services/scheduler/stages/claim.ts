import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import type { ClaimedLead } from "../../../shared/contracts/records/lead.ts";
import type { StageResult } from "../dispositions.ts";
import type { ReservedLead } from "./reserve-slots.ts";

/** A reserved lead whose claim this replica won. */
export interface WonLead extends ReservedLead {
  claimed: ClaimedLead;
}

/** Claims reserved leads in one request. The slots of those that another replica, or the end of the lead, took are not used. */
export async function claim(
  reserved: readonly ReservedLead[],
  { bus, env }: Pick<ServiceDeps, "bus" | "env">,
): Promise<StageResult<WonLead>> {
  const items = reserved.map(({ admitted: { lead, plan, configuration }, slot }) => ({
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
  }));
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
