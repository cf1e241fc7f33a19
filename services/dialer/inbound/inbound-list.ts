import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { scopeOf } from "../../../shared/contracts/records/identity.ts";
import type { InboundCallRecord } from "../../../shared/contracts/records/inbound.ts";
import { readPage } from "../../../shared/page.ts";
import type { InboundCallDoc } from "./inbound-calls.model.ts";
import type { InboundCalls } from "./inbound-calls.repository.ts";

/** Document -> what is shown of an inbound call. */
export const toInboundRecord = (d: InboundCallDoc): InboundCallRecord => ({
  id: d._id,
  provider: d.provider,
  call_id: d.carrier_call_id,
  caller_number: d.from,
  called_number: d.to,
  number_id: d.number_id,
  reseller_id: d.reseller_id,
  merchant_id: d.merchant_id,
  template_id: d.template_id,
  verdict: d.verdict ?? null,
  reason: d.reason ?? null,
  lead_id: d.lead_id ?? null,
  created_at: d.created_at.toISOString(),
});

/** The inbound calls of the asker's numbers, accepted and blocked, newest first. */
export async function listInbound(
  calls: InboundCalls,
  { by, limit, cursor, ...filter }: ParamsOf<"dialer.inboundCalls">,
): Promise<ResultOf<"dialer.inboundCalls">> {
  const { items, next_cursor } = await readPage(
    { limit, cursor },
    (after, size) => calls.page(scopeOf(by), filter, after, size),
    toInboundRecord,
  );
  return { count: items.length, inbound_calls: items, next_cursor };
}
