import { described, Id, IsoTime, named, Nullable, Strict, Type, UpTo, Uuid, valued, type Static } from "../define.ts";
import { ProviderEnum } from "./configuration.ts";
import { By, Count, NextCursor, OfTemplate, OwnerFilter, PageParams, Period } from "./identity.ts";

/** Verdict on an inbound call. */
export const INBOUND_VERDICTS = ["ACCEPTED", "REJECTED", "REDIRECTED"] as const;
export type InboundVerdict = (typeof INBOUND_VERDICTS)[number];
/** One of them as it travels. */
export const InboundVerdictEnum = named(
  "InboundVerdict",
  "What became of an inbound call.",
  valued(INBOUND_VERDICTS, {
    ACCEPTED: "It was answered; its lead says how it went.",
    REJECTED: "It was refused, with a message where the configuration has one.",
    REDIRECTED: "It was handed to the configuration's inbound_redirect_number.",
  }),
);

/** Why an inbound call was blocked, in the order of the gates. */
export const BLOCK_REASONS = [
  "unknown_number",
  "no_template",
  "template_inactive",
  "inbound_disabled",
  "outside_window",
  "blacklisted",
  "rate_limited",
  "spend_ceiling",
  "unavailable",
] as const;
export type BlockReason = (typeof BLOCK_REASONS)[number];
const BlockReasonEnum = valued(BLOCK_REASONS, {
  unknown_number: "The called number is none of ours, or disabled.",
  no_template: "Its owner has no template for inbound calls.",
  template_inactive: "The template is switched off.",
  inbound_disabled: "The configuration's enable_inbound is off, or there is no configuration.",
  outside_window: "Outside the inbound hours.",
  blacklisted: "The caller is on the blacklist.",
  rate_limited: "The caller used up the calls that a window allows.",
  spend_ceiling: "It does not fit under a spend ceiling of the merchant or the reseller.",
  unavailable: "The call was to be accepted, and a part of the service was unreachable.",
});

/** An inbound call. */
export const InboundCallRecord = named(
  "InboundCall",
  "A call of a person to one of our numbers.",
  Type.Object({
    id: described("Id of the inbound call.", Uuid),
    provider: described("Over which provider it came.", ProviderEnum),
    call_id: described("The carrier's id of the call.", UpTo(300)),
    caller_number: described("Who called; null: the caller withheld the number.", Nullable(UpTo(32))),
    called_number: described("Which number was called.", UpTo(32)),
    number_id: described("Id of that number; null: it is none of ours.", Nullable(Id)),
    reseller_id: described("The number's reseller; null: it has no owner.", Nullable(Id)),
    merchant_id: described("The number's merchant; null: it has none.", Nullable(Id)),
    template_id: described("The template that leads its conversation; null: there is none.", Nullable(Id)),
    verdict: described("null: there is none yet.", Nullable(InboundVerdictEnum)),
    reason: described("Why it was blocked; null: it was not.", Nullable(BlockReasonEnum)),
    lead_id: described("Its lead; null: it was not accepted.", Nullable(Id)),
    created_at: described("When it came.", IsoTime),
  }),
);
export type InboundCallRecord = Static<typeof InboundCallRecord>;

/** A page of inbound calls by filters. */
export const inboundCallList = [
  Strict({
    by: By,
    merchant_id: OwnerFilter.merchant_id,
    template_id: OfTemplate,
    verdict: Type.Optional(described("Only calls with this verdict.", InboundVerdictEnum)),
    ...Period,
    ...PageParams,
  }),
  Type.Object({
    count: Count,
    inbound_calls: described("The calls, newest first.", Type.Array(InboundCallRecord)),
    next_cursor: NextCursor,
  }),
] as const;
