import { IS_PARKED } from "../rules/faults.ts";
import type { ListFilter } from "../../../shared/bus/bus.ts";
import { ofPhone } from "../../../shared/numbering/spellings.ts";
import { soughtNumber } from "../../../shared/phone.ts";

/** What leads are narrowed by: plain values only, put together by us. `from` is inclusive, `to` exclusive, both by created_at. */
export interface LeadFilter {
  status?: string;
  outcome?: string;
  template_id?: string;
  merchant_id?: string;
  execution_mode?: string;
  phone_number?: string;
  from?: Date;
  to?: Date;
  include_test?: boolean;
  parked?: boolean;
}

/** A filter of the API's words. INVALID_PHONE_NUMBER. */
export function parseFilter(asked: ListFilter<"leads.list">): LeadFilter {
  const { mode, phone, from, to, ...same } = asked;
  return {
    ...same,
    ...(mode === undefined ? {} : { execution_mode: mode }),
    ...(phone === undefined ? {} : { phone_number: soughtNumber(phone, "phone") }),
    ...(from === undefined ? {} : { from: new Date(from) }),
    ...(to === undefined ? {} : { to: new Date(to) }),
  };
}

/** The filter as a query; each of its fields leads an index that is in the order of lists (leads.model.ts). */
export function filterQuery({
  include_test,
  parked,
  from,
  to,
  phone_number,
  ...same
}: LeadFilter): Record<string, unknown> {
  const period = { ...(from ? { $gte: from } : {}), ...(to ? { $lt: to } : {}) };
  return {
    ...same,
    ...(phone_number === undefined ? {} : { phone_number: ofPhone(phone_number) }),
    ...((from ?? to) ? { created_at: period } : {}),
    ...(include_test ? {} : { is_test: false }),
    ...(parked === undefined ? {} : { "faults.parked_at": parked ? IS_PARKED : null }),
  };
}
