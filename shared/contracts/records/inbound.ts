import { IsoTime, Nullable, Type, Uuid, type Static } from "../define.ts";
import { ProviderEnum } from "./configuration.ts";

/** Verdict on an inbound call. */
export const INBOUND_VERDICTS = ["ACCEPTED", "REJECTED", "REDIRECTED"] as const;
export type InboundVerdict = (typeof INBOUND_VERDICTS)[number];
/** One of them as it travels. */
export const InboundVerdictEnum = Type.Enum([...INBOUND_VERDICTS]);

/** Why an inbound call was blocked, in the order of the gates. */
export const BLOCK_REASONS = [
  /** The called number is none of ours, or disabled. */ "unknown_number",
  /** Its owner has no template for inbound calls. */ "no_template",
  /** The template is switched off. */ "template_inactive",
  /** The configuration's enable_inbound is off, or there is no configuration. */ "inbound_disabled",
  /** Outside the inbound hours. */ "outside_window",
  /** The caller is on the blacklist. */ "blacklisted",
  /** The caller used up the calls that a window allows. */ "rate_limited",
  /** The call was to be accepted, and a part of the service was unreachable. */ "unavailable",
] as const;
export type BlockReason = (typeof BLOCK_REASONS)[number];

/**
 * An inbound call. Times ISO. Nulls: the caller withheld the number; the called number has no owner; the call was not accepted (lead_id); no
 * verdict yet (verdict).
 */
export const InboundCallRecord = Type.Object({
  id: Uuid,
  provider: ProviderEnum,
  call_id: Type.String(),
  caller_number: Nullable(Type.String()),
  called_number: Type.String(),
  number_id: Nullable(Type.String()),
  reseller_id: Nullable(Type.String()),
  merchant_id: Nullable(Type.String()),
  template_id: Nullable(Type.String()),
  verdict: Nullable(InboundVerdictEnum),
  reason: Nullable(Type.Enum([...BLOCK_REASONS])),
  lead_id: Nullable(Type.String()),
  created_at: IsoTime,
});
export type InboundCallRecord = Static<typeof InboundCallRecord>;
