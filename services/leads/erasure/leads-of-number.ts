import type { Model } from "mongoose";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { ofPhone } from "../../../shared/numbering/spellings.ts";
import type { BriefDoc } from "../leads.repository.ts";
import type { LeadDoc } from "../leads.model.ts";
import { IS_OVER, type ErasableLead } from "../rules/lead-erasure.ts";
import { WAITING } from "../rules/lead-transition.ts";

/** The leads of a number in a scope, in every spelling of its phone: those that still have it. */
export interface LeadsOfNumber {
  /** Those that wait for an attempt. */
  waiting(limit: number): Promise<BriefDoc[]>;
  /** Those of which nothing is owed any more, behind an id. */
  ready(after: string, limit: number): Promise<ErasableLead[]>;
  /** How many there are, up to a limit. */
  count(limit: number): Promise<number>;
}

/** Reads them by the index on the number. */
export function leadsOfNumber(model: Model<LeadDoc>, scope: Scope, phone_number: string): LeadsOfNumber {
  const ofNumber = { phone_number: ofPhone(phone_number), ...within(scope) };
  const filtered = (more: Record<string, unknown>): Record<string, unknown> => ({ ...ofNumber, ...more });
  return {
    waiting: (limit) =>
      model
        .find(filtered({ status: WAITING }), { status: 1, "payload.reporting_webhook_url": 1 })
        .limit(limit)
        .lean<BriefDoc[]>(),
    ready: (after, limit) =>
      model
        .find(filtered({ ...IS_OVER, _id: { $gt: after } }), { claim_no: 1, request_id: 1, "meta.do_not_call": 1 })
        .sort({ _id: 1 })
        .limit(limit)
        .lean<ErasableLead[]>(),
    count: (limit) => model.countDocuments(ofNumber).limit(limit),
  };
}
