import { IsoTime, Nullable, Type, Uuid, type Static, Id, UpTo } from "../define.ts";
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
  /** It does not fit under a spend ceiling of the merchant or the reseller. */ "spend_ceiling",
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
  call_id: UpTo(300),
  caller_number: Nullable(UpTo(32)),
  called_number: UpTo(32),
  number_id: Nullable(Id),
  reseller_id: Nullable(Id),
  merchant_id: Nullable(Id),
  template_id: Nullable(Id),
  verdict: Nullable(InboundVerdictEnum),
  reason: Nullable(Type.Enum([...BLOCK_REASONS])),
  lead_id: Nullable(Id),
  created_at: IsoTime,
});
export type InboundCallRecord = Static<typeof InboundCallRecord>;
