import { Owner, Stamps, Warnings } from "./identity.ts";
import { EngineEnum } from "./models.ts";
import {
  Clearable,
  described,
  HOUR_MINUTE,
  describedAs,
  Json,
  named,
  Nullable,
  Patch,
  PhoneText,
  Strict,
  Text,
  Type,
  upToBytes,
  Uuid,
  type Static,
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
export const VoicemailActionEnum = valued(VOICEMAIL_ACTIONS, {
  hangup: "The call ends.",
  leave_message: "The template's voicemail_message is left after the beep.",
  continue: "The conversation goes on as with a person.",
});

const HourMinute = Type.String({ pattern: HOUR_MINUTE });
const Offset = Type.Integer({ minimum: 0, maximum: 31_536_000 });

/** Most retries a configuration may ask for. */
export const MAX_RETRY_BOUND = 20;

/** Most bytes of a configuration's pre-checks together, as JSON; stored ones of older versions may be larger. */
export const PRE_CHECKS_BYTES = 32 * 1024;

/** Most dates in a configuration's list of holidays. */
export const MAX_HOLIDAYS = 200;
/** An ISO weekday: 1 is Monday, 7 is Sunday. */
const Weekday = Type.Integer({ minimum: 1, maximum: 7 });
const Holiday = Type.String({
  pattern: "^(?:[0-9]{4}|-)-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$",
  maxLength: 10,
});
/** Most numbers in a configuration's list of transfer targets. */
export const MAX_TRANSFER_NUMBERS = 100;
const Weekdays = Type.Array(Weekday, { minItems: 1, maxItems: 7 });
const Holidays = Type.Array(Holiday, { maxItems: MAX_HOLIDAYS });

/** What becomes of a push whose request_id was pushed before for the same merchant and template. */
export const DUPLICATE_POLICIES = ["allow", "answer_first", "refuse"] as const;
/** The same, and for how many hours after the first push. */
export const Duplicates = named(
  "Duplicates",
  "What becomes of a push whose request_id was pushed before for the same merchant and template.",
  Strict({
    within_hours: described(
      "Hours after the first push in which this holds.",
      Type.Integer({ minimum: 1, maximum: 168 }),
    ),
    policy: valued(DUPLICATE_POLICIES, {
      allow: "Another lead is made.",
      answer_first: "No lead is made; the answer names the first one, with duplicate: true.",
      refuse: "No lead is made: 409 DUPLICATE_REQUEST.",
    }),
  }),
);
export type Duplicates = Static<typeof Duplicates>;

const ZONE = { example: "Europe/Paris", pattern: "^(?:UTC|[A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+)$" };
const HOURS = "HH:MM";
const CLOSED = { example: "We are open from eight to eight. Please call again." };
const requiredFields = {
  initial_offset: described("Seconds from the push to the first attempt.", Offset, { example: 0 }),
  retry_offset: described("Seconds from the end of an attempt to the next one.", Offset, { example: 900 }),
  call_start_time: described(
    `When the calling window opens, ${HOURS} in timezone. The same as call_end_time: all day.`,
    HourMinute,
    { example: "09:00" },
  ),
  call_end_time: described(
    `When it closes, ${HOURS} in timezone; before call_start_time: on the next day.`,
    HourMinute,
    { example: "18:00" },
  ),
  max_retry: described(
    "Attempts after the first one, at most.",
    Type.Integer({ minimum: 0, maximum: MAX_RETRY_BOUND }),
    { example: 2 },
  ),
  calling_provider: described("Over which provider the leads are called.", ProviderEnum),
};

const otherFields = {
  timezone: described("Zone of the window, UTC or a place. Absent: DEFAULT_TIMEZONE.", Text(64), ZONE),
  weekdays: described("Days of the calling window, 1 (Monday) to 7 (Sunday), on the calendar of its zone.", Weekdays, {
    default: [1, 2, 3, 4, 5, 6, 7],
  }),
  holidays: described(
    "Dates on which the calling window is shut all day: 2026-12-25, or --12-25 for that day of each year.",
    Holidays,
    { default: [], example: ["--12-25"] },
  ),
  respect_callee_timezone: described(
    "Whether the window holds on the callee's clock too, in every zone where the number may be. Absent: for numbers outside of the country of timezone.",
    Type.Boolean(),
  ),
  enable_calling: described("false: its leads wait.", Type.Boolean(), { default: true }),
  enable_international_call: described(
    "false: leads in a country where no usable number is end INTERNATIONAL_BLOCKED.",
    Type.Boolean(),
    { default: true },
  ),
  enable_inbound: described("Whether the template takes inbound calls.", Type.Boolean(), { default: false }),
  inbound_call_start_time: described(
    `From when inbound calls are taken, ${HOURS} in inbound_call_timezone; with inbound_call_end_time. Absent: all day.`,
    HourMinute,
    { example: "08:00" },
  ),
  inbound_call_end_time: described(`Until when, ${HOURS}.`, HourMinute, { example: "20:00" }),
  inbound_call_timezone: described("Zone of the inbound hours, UTC or a place. Absent: timezone.", Text(64), ZONE),
  inbound_block_action: described(
    "What becomes of an inbound call that is not taken.",
    valued(["REJECT", "REDIRECT"], {
      REJECT: "inbound_block_message is said, and the call ends.",
      REDIRECT: "It is handed to inbound_redirect_number.",
    }),
    { default: "REJECT" },
  ),
  inbound_redirect_number: described("Where blocked calls are handed with REDIRECT, E.164.", PhoneText, {
    example: "+14155550199",
  }),
  inbound_block_message: described("What is said to a blocked caller. Absent: nothing.", Text(1000), CLOSED),
  inbound_webhook_url: described(
    "Receives the webhook events of finished inbound leads, as reporting_webhook_url does for a pushed one.",
    Text(2000),
    { example: "https://shop.example/callagent" },
  ),
  inbound_max_calls_per_caller: described(
    "Inbound calls that are taken from one caller in a sliding window.",
    Type.Integer({ minimum: 1, maximum: 10_000 }),
    { default: 10 },
  ),
  inbound_caller_window_seconds: described(
    "Length of that window, seconds.",
    Type.Integer({ minimum: 1, maximum: 86_400 }),
    { default: 3600 },
  ),
  record_calls: described("Whether calls are recorded.", Type.Boolean(), { default: true }),
  voicemail_action: described("What happens when voicemail answers.", VoicemailActionEnum, { default: "hangup" }),
  engine: described(
    "How conversations run where the template does not say it. Absent: as the deployment says.",
    EngineEnum,
  ),
  enforce_blacklist: described("Whether leads with a listed number are dropped.", Type.Boolean(), { default: true }),
  rate_limit_enabled: described("Whether rate_limit_max_calls holds.", Type.Boolean(), { default: false }),
  rate_limit_max_calls: described(
    "Calls in any sliding window of rate_limit_window_seconds; needed where rate_limit_enabled is true.",
    Type.Integer({ minimum: 1, maximum: 10_000 }),
  ),
  rate_limit_window_seconds: described(
    "Length of that window, seconds.",
    Type.Integer({ minimum: 1, maximum: 86_400 }),
    { default: 3600 },
  ),
  rate_limit_whitelist: described(
    "Numbers, E.164, that are called whatever the rate limit says.",
    Type.Array(PhoneText, { maxItems: 1000 }),
    { default: [] },
  ),
  pre_checks: described(
    `Requests to your server before a dial, whose answers decide whether to call. Fields: name, type (external_api), enabled, url, method, headers, body, timeout_ms, retries, pass_when (path, operator, value), export, default_on_failure (proceed, abort, defer), defer_seconds, max_defers. At most ${PRE_CHECKS_BYTES} bytes together.`,
    Type.Array(Json, { maxItems: 10, ...upToBytes(PRE_CHECKS_BYTES) }),
    {
      default: [],
      example: [
        { name: "open order", url: "https://shop.example.com/orders/{{order_id}}", default_on_failure: "proceed" },
      ],
    },
  ),
  duplicates: described(
    "What becomes of a request_id that was pushed before. Absent: another lead is made.",
    Duplicates,
  ),
  transfer_numbers: described(
    "Numbers, E.164, to which a transfer whose target comes from a variable may hand a call.",
    Type.Array(PhoneText, { maxItems: MAX_TRANSFER_NUMBERS }),
    { default: [] },
  ),
};

/** Fields of 2.8; offsets and windows in seconds. */
export const configurationFields = { ...requiredFields, ...Type.Partial(Type.Object(otherFields)).properties };

/** A configuration as a client writes it. */
export const ConfigurationInput = named(
  "CallConfigurationInput",
  "When and how the leads of a template are called.",
  Strict({
    template_id: described("The template that it is for; each has one at most.", Uuid),
    ...configurationFields,
  }),
);
export type ConfigurationInput = Static<typeof ConfigurationInput>;

/** A change of a configuration: null gives a field its default back. */
export const ConfigurationPatch = Patch({
  ...Type.Partial(Type.Object(requiredFields)).properties,
  ...Clearable(otherFields),
});
export type ConfigurationPatch = Static<typeof ConfigurationPatch>;

/** A configuration in full, every default filled in. */
export const ConfigurationRecord = named(
  "CallConfiguration",
  "When and how the leads of a template are called, every default filled in.",
  Type.Object(
    describedAs(
      { ...requiredFields, ...otherFields },
      {
        id: described("Id of the configuration.", Uuid),
        ...Owner,
        template_id: described("Id of its template.", Uuid),
        template: described("Name of its template.", UpTo(200)),
        initial_offset: Offset,
        retry_offset: Offset,
        call_start_time: HourMinute,
        call_end_time: HourMinute,
        timezone: UpTo(64),
        /** Absent: a config service of 0.2.0 answers; every day counts. */
        weekdays: Type.Optional(Weekdays),
        holidays: Type.Optional(Holidays),
        respect_callee_timezone: Type.Optional(
          described(
            "Whether the window holds on the callee's clock too; null: for numbers outside of the country of timezone.",
            Nullable(Type.Boolean()),
          ),
        ),
        max_retry: Type.Integer(),
        calling_provider: ProviderEnum,
        enable_calling: Type.Boolean(),
        enable_international_call: Type.Boolean(),
        enable_inbound: Type.Boolean(),
        inbound_call_start_time: Nullable(HourMinute),
        inbound_call_end_time: Nullable(HourMinute),
        inbound_call_timezone: Nullable(UpTo(64)),
        inbound_block_action: otherFields.inbound_block_action,
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
        rate_window_id: Type.Optional(
          described(
            "Where an override changes the rate limit: the window that the changed limit counts in. Absent: the configuration's own.",
            Uuid,
          ),
        ),
        ...Stamps,
        warnings: Type.Optional(
          described("What will not work in calls with its template, though each is valid. Absent: nothing.", Warnings),
        ),
      },
    ),
  ),
);
export type ConfigurationRecord = Static<typeof ConfigurationRecord>;
