import { described, Id, named, PhoneText, Strict, Text, Type, UpTo, valued, IsoTime } from "../define.ts";
import { By, Count, NextCursor, OfTemplate, OwnerFilter, PageParams, Period } from "../records/identity.ts";
import { ExecutionModeEnum, LeadId, LeadStatusEnum, LeadSummary, RequestId } from "../records/lead.ts";
import { Summary, TimelineEvent } from "../records/lead-views.ts";

/** Of requests about one lead. */
export const OneLead = { by: By, lead_id: LeadId };

/** Filters of the list of leads. */
const LeadFilter = Strict({
  by: By,
  status: Type.Optional(described("Only leads that stand here.", LeadStatusEnum)),
  outcome: Type.Optional(described("Only leads with this outcome.", Text(64))),
  mode: Type.Optional(described("Only leads that are reached this way.", ExecutionModeEnum)),
  phone: Type.Optional(described("Only leads with this phone number, E.164.", PhoneText, { example: "+14155550123" })),
  template_id: OfTemplate,
  merchant_id: OwnerFilter.merchant_id,
  ...Period,
  include_test: Type.Optional(
    described("Whether playground and test leads are in the list too.", Type.Boolean(), { default: false }),
  ),
  parked: Type.Optional(
    described(
      "true: only leads that technical faults keep from being dialled; false: only the others.",
      Type.Boolean(),
    ),
  ),
  ...PageParams,
});
const Summaries = { count: Count, leads: described("The leads, newest first.", Type.Array(LeadSummary)) };
/** A page of leads by filters. */
export const leadList = [LeadFilter, Type.Object({ ...Summaries, next_cursor: NextCursor })] as const;

/** The leads of one request_id. */
export const leadsOfRequest = [
  Strict({ by: By, request_id: described("The request_id of the push.", Text(200)), ...PageParams }),
  Type.Object({ request_id: RequestId, ...Summaries, next_cursor: Type.Optional(NextCursor) }),
] as const;

/** What was recorded of a lead. */
export const timeline = [
  Strict(OneLead),
  Type.Object({
    lead_id: described("Id of the lead.", Id),
    count: Count,
    events: described("Everything recorded of the lead, the oldest first.", Type.Array(TimelineEvent)),
  }),
] as const;

/** Figures of a period. */
export const summaryOf = [
  Strict({
    by: By,
    template_id: OfTemplate,
    merchant_id: OwnerFilter.merchant_id,
    from: Type.Optional(described("The period's beginning, inclusive. Left out: 30 days before its end.", IsoTime)),
    to: Type.Optional(described("The period's end, exclusive. Left out: now.", IsoTime)),
  }),
  Summary,
] as const;

const AbortedLead = Strict({
  lead_id: LeadId,
  cancellation_reason: described("Why, for the audit log and the lead's record.", Text(2000), {
    example: "order cancelled",
  }),
});
const AbortResult = named(
  "AbortResult",
  "What became of one lead that was to be aborted.",
  Type.Object({
    id: described("The lead_id of the item.", Id),
    status: valued(["success", "already_aborted", "processing", "error"], {
      success: "The lead is aborted: it was waiting.",
      already_aborted: "It was FINISHED before.",
      processing: "It is being dialled or in conversation, and can't be aborted.",
      error: "It was not found, or the item is not valid; see message.",
    }),
    message: described("The same in words.", UpTo(2000)),
  }),
);
/** Leads that are to end without a call. */
export const abort = [
  Strict({
    by: By,
    leads: described("The leads to abort.", Type.Array(AbortedLead, { minItems: 1, maxItems: 1000 })),
  }),
  Type.Object({ leads: described("One result for each item, in their order.", Type.Array(AbortResult)) }),
] as const;

/** Parked leads that are to be tried now. */
export const resume = [
  Strict({
    by: By,
    lead_ids: Type.Optional(
      described(
        "The leads to try now; left out: all parked leads of template_id.",
        Type.Array(Text(64), { minItems: 1, maxItems: 500 }),
      ),
    ),
    template_id: Type.Optional(described("The template whose parked leads are tried now, 10,000 at most.", Text(64))),
  }),
  Type.Object({
    resumed: described(
      "Leads that are due now; one that was not parked, or is being tried, is not counted.",
      Type.Integer({ minimum: 0 }),
    ),
    more: described("true: there are others; ask again.", Type.Boolean()),
  }),
] as const;
