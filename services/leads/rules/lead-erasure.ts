import { withoutNumber } from "../../../shared/privacy/erased-text.ts";
import type { LeadDoc } from "../leads.model.ts";
import { OVER, type LeadTransition } from "./lead-transition.ts";

/** The guard of a lead that is over, and owes nothing: neither its report, nor an event, nor the end of a call. */
export const IS_OVER = { status: OVER, report_due_at: null, outbox_at: null, "call_end.ref": null };

/** What of a lead decides what is left of it. */
export type ErasableLead = Pick<LeadDoc, "_id" | "claim_no" | "request_id"> & { meta?: { do_not_call?: boolean } };

/** An empty payload, as JSON. */
const NO_PAYLOAD_BYTES = 2;

/**
 * FINISHED -> same, without the person: what stays are ids, outcome, counts, times, cost and scores. It takes the fencing token, so that nothing that
 * comes late writes anything back but a price.
 */
export const erase = (lead: ErasableLead, phone_number: string, now: Date): LeadTransition => ({
  filter: { _id: lead._id, claim_no: lead.claim_no, ...IS_OVER },
  update: {
    $set: {
      phone_number: null,
      request_id: withoutNumber(lead.request_id, phone_number),
      payload: {},
      payload_bytes: NO_PAYLOAD_BYTES,
      configurations_override: null,
      meta: { erased_at: now, ...(lead.meta?.do_not_call === true ? { do_not_call: true } : {}) },
      history: [{ event: "erased", at: now, details: {} }],
      recording_url: null,
      held: null,
      pre_check_defers: {},
      updated_at: now,
    },
    $unset: { link_hash: 1, link_holder: 1, faults: 1 },
    $inc: { claim_no: 1 },
  },
  events: [],
});
