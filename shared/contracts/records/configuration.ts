import { EngineEnum } from "./models.ts";
import {
  Clearable,
  E164,
  IsoTime,
  Json,
  named,
  Nullable,
  Patch,
  Strict,
  Text,
  Type,
  upToBytes,
  Uuid,
  type Static,
  Id,
  UpTo,
  valued,
} from "../define.ts";

/** The provider words of the contract; the deployment maps them to carriers. */
export const PROVIDERS = ["PROVIDER_ONE", "PROVIDER_TWO", "PROVIDER_THREE"] as const;
export type Provider = (typeof PROVIDERS)[number];
/** A provider word as it travels. */
export const ProviderEnum = named(
  "Provider",
  "A carrier account of the deployment; its operator says which carrier each stands for.",
  valued(PROVIDERS, {
    PROVIDER_ONE: "The deployment's first carrier account.",
    PROVIDER_TWO: "Its second one.",
    PROVIDER_THREE: "Its third one.",
  }),
);

/**
 * What happens when voicemail answers: the call ends, the template's message is left after the beep, or the conversation goes on as with a person.
 */
export const VOICEMAIL_ACTIONS = ["hangup", "leave_message", "continue"] as const;
export type VoicemailAction = (typeof VOICEMAIL_ACTIONS)[number];
/** One of them as it travels. */
export const VoicemailActionEnum = Type.Enum([...VOICEMAIL_ACTIONS]);

const HourMinute = Type.String({ pattern: "^([01][0-9]|2[0-3]):[0-5][0-9]$" });
const Offset = Type.Integer({ minimum: 0, maximum: 31_536_000 });

/** Most retries a configuration may ask for. */
export const MAX_RETRY_BOUND = 20;

/** Most bytes of a configuration's pre-checks together, as JSON; stored ones of older versions may be larger. */
export const PRE_CHECKS_BYTES = 32 * 1024;

/** Most dates in a configuration's list of holidays. */
export const MAX_HOLIDAYS = 200;
/** An ISO weekday: 1 is Monday, 7 is Sunday. */
const Weekday = Type.Integer({ minimum: 1, maximum: 7 });
/** A date, `2026-12-25`, or that day of each year, `--12-25`. */
const Holiday = Type.String({
  pattern: "^(?:[0-9]{4}|-)-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$",
  maxLength: 10,
});
/** Most numbers in a configuration's list of transfer targets. */
export const MAX_TRANSFER_NUMBERS = 100;
/** The weekdays of the calling window. */
const Weekdays = Type.Array(Weekday, { minItems: 1, maxItems: 7 });
/** Dates on which the calling window is shut all day. */
const Holidays = Type.Array(Holiday, { maxItems: MAX_HOLIDAYS });

/**
 * What becomes of a push whose request_id was pushed before for the same merchant and template: another lead, an answer that names the first one, or a refusal.
 */
export const DUPLICATE_POLICIES = ["allow", "answer_first", "refuse"] as const;
/** The same, and for how many hours after the first push. */
export const Duplicates = Strict({
  within_hours: Type.Integer({ minimum: 1, maximum: 168 }),
  policy: Type.Enum([...DUPLICATE_POLICIES]),
});
export type Duplicates = Static<typeof Duplicates>;

const requiredFields = {
  initial_offset: Offset,
  retry_offset: Offset,
  call_start_time: HourMinute,
  call_end_time: HourMinute,
  max_retry: Type.Integer({ minimum: 0, maximum: MAX_RETRY_BOUND }),
  calling_provider: ProviderEnum,
};

const otherFields = {
  /** IANA zone of the calling window; absent: DEFAULT_TIMEZONE. */
  timezone: Text(64),
  /** Days of the calling window, on the calendar of the same zone. */
  weekdays: Weekdays,
  holidays: Holidays,
  /** Whether the window holds on the callee's clock too, in every zone where the number may be; absent: for numbers outside of the country of `timezone`. */
  respect_callee_timezone: Type.Boolean(),
  enable_calling: Type.Boolean(),
  enable_international_call: Type.Boolean(),
  enable_inbound: Type.Boolean(),
  inbound_call_start_time: HourMinute,
  inbound_call_end_time: HourMinute,
  inbound_call_timezone: Text(64),
  inbound_block_action: Type.Enum(["REJECT", "REDIRECT"]),
  inbound_redirect_number: E164,
  inbound_block_message: Text(1000),
  /** Receives the webhook events of finished inbound leads, as reporting_webhook_url does for a pushed one. */
  inbound_webhook_url: Text(2000),
  /** Inbound calls accepted from one caller in a sliding window of so many seconds. */
  inbound_max_calls_per_caller: Type.Integer({ minimum: 1, maximum: 10_000 }),
  inbound_caller_window_seconds: Type.Integer({ minimum: 1, maximum: 86_400 }),
  /** Whether calls are recorded; what happens when voicemail answers. */
  record_calls: Type.Boolean(),
  voicemail_action: VoicemailActionEnum,
  /** The engine of conversations where the template names none; absent: the deployment's. */
  engine: EngineEnum,
  enforce_blacklist: Type.Boolean(),
  rate_limit_enabled: Type.Boolean(),
  rate_limit_max_calls: Type.Integer({ minimum: 1, maximum: 10_000 }),
  rate_limit_window_seconds: Type.Integer({ minimum: 1, maximum: 86_400 }),
  rate_limit_whitelist: Type.Array(E164, { maxItems: 1000 }),
  pre_checks: Type.Array(Json, { maxItems: 10, ...upToBytes(PRE_CHECKS_BYTES) }),
  duplicates: Duplicates,
  /** Numbers to which a transfer whose target comes from a variable may hand a call. */
  transfer_numbers: Type.Array(E164, { maxItems: MAX_TRANSFER_NUMBERS }),
};

/** Fields of 2.8; offsets and windows in seconds. */
export const configurationFields = { ...requiredFields, ...Type.Partial(Type.Object(otherFields)).properties };

/** A configuration as a client writes it. */
export const ConfigurationInput = Strict({ template_id: Uuid, ...configurationFields });
export type ConfigurationInput = Static<typeof ConfigurationInput>;

/** A change of a configuration: null gives a field its default back. */
export const ConfigurationPatch = Patch({
  ...Type.Partial(Type.Object(requiredFields)).properties,
  ...Clearable(otherFields),
});
export type ConfigurationPatch = Static<typeof ConfigurationPatch>;

/** A configuration in full, every default filled in. */
export const ConfigurationRecord = Type.Object({
  id: Uuid,
  reseller_id: Id,
  merchant_id: Nullable(Id),
  template_id: Uuid,
  template: UpTo(200),
  initial_offset: Offset,
  retry_offset: Offset,
  call_start_time: HourMinute,
  call_end_time: HourMinute,
  timezone: UpTo(64),
  /** Absent: a config service of 0.2.0 answers; every day counts. */
  weekdays: Type.Optional(Weekdays),
  holidays: Type.Optional(Holidays),
  /** null: for numbers outside of the country of `timezone`. */
  respect_callee_timezone: Type.Optional(Nullable(Type.Boolean())),
  max_retry: Type.Integer(),
  calling_provider: ProviderEnum,
  enable_calling: Type.Boolean(),
  enable_international_call: Type.Boolean(),
  enable_inbound: Type.Boolean(),
  inbound_call_start_time: Nullable(HourMinute),
  inbound_call_end_time: Nullable(HourMinute),
  inbound_call_timezone: Nullable(UpTo(64)),
  inbound_block_action: Type.Enum(["REJECT", "REDIRECT"]),
  inbound_redirect_number: Nullable(UpTo(32)),
  inbound_block_message: Nullable(UpTo(1000)),
  inbound_webhook_url: Nullable(UpTo(2000)),
  inbound_max_calls_per_caller: Type.Integer(),
  inbound_caller_window_seconds: Type.Integer(),
  record_calls: Type.Boolean(),
  voicemail_action: VoicemailActionEnum,
  engine: Nullable(EngineEnum),
  enforce_blacklist: Type.Boolean(),
  rate_limit_enabled: Type.Boolean(),
  rate_limit_max_calls: Nullable(Type.Integer()),
  rate_limit_window_seconds: Type.Integer(),
  rate_limit_whitelist: Type.Array(UpTo(32), { maxItems: 1000 }),
  pre_checks: Type.Array(Json),
  duplicates: Type.Optional(Nullable(Duplicates)),
  /** Absent: a config service of 0.2.0 answers; there is none. */
  transfer_numbers: Type.Optional(Type.Array(UpTo(32), { maxItems: MAX_TRANSFER_NUMBERS })),
  /** Where an override changes the rate limit: the window that the changed limit counts in. Absent: the configuration's own. */
  rate_window_id: Type.Optional(Uuid),
  created_at: IsoTime,
  updated_at: IsoTime,
});
export type ConfigurationRecord = Static<typeof ConfigurationRecord>;
