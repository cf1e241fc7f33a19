import type { ConfigurationPatch } from "../../../shared/contracts/records/configuration.ts";
import { Strict, Type } from "../../../shared/contracts/define.ts";
import { fail, type ValidationIssue } from "../../../shared/errors.ts";
import { shortNumberIssue } from "../../../shared/numbering/short-number.ts";
import { numberIssue, toE164 } from "../../../shared/phone.ts";
import { isTimeZone, NO_TIME_ZONE } from "../../../shared/time/time-zones.ts";
import type { Settings } from "../configurations/configurations.model.ts";
import { secretReferences } from "../../../shared/placeholders.ts";
import { requestIssues } from "./request-secrets.ts";
import { issueChecker } from "../../../shared/validator.ts";

const optional = Type.Optional;
const Path = Type.String({ minLength: 1, maxLength: 200 });

/** A pre-check: a request before the dial whose answer decides whether to call. All but its name has a default. */
export const PreCheck = Strict({
  name: Type.String({ minLength: 1, maxLength: 100 }),
  type: optional(Type.Enum(["external_api"])),
  enabled: optional(Type.Boolean()),
  url: optional(Type.String({ maxLength: 2000, pattern: "^https?://[^\\s/?#]+" })),
  method: optional(Type.Enum(["GET", "POST", "PUT", "PATCH"])),
  headers: optional(Type.Record(Type.String({ minLength: 1, maxLength: 200 }), Type.String({ maxLength: 4000 }))),
  body: optional(Type.Unknown()),
  timeout_ms: optional(Type.Integer({ minimum: 100, maximum: 30_000 })),
  retries: optional(Type.Integer({ minimum: 0, maximum: 5 })),
  pass_when: optional(
    Strict({
      path: Path,
      operator: Type.Enum(["equals", "not_equals", "contains", "gt", "lt", "exists"]),
      value: optional(Type.Unknown()),
    }),
  ),
  export: optional(Type.Record(Type.String({ minLength: 1, maxLength: 64 }), Path)),
  default_on_failure: optional(Type.Enum(["proceed", "abort", "defer"])),
  defer_seconds: optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
  max_defers: optional(Type.Integer({ minimum: 0, maximum: 100 })),
});

const preCheckIssues = issueChecker(PreCheck);

type Part = Partial<Settings>;

const zoneIssues = (s: Part): ValidationIssue[] =>
  (["timezone", "inbound_call_timezone"] as const).flatMap((field) =>
    s[field] === undefined || isTimeZone(s[field]) ? [] : [{ path: field, message: NO_TIME_ZONE }],
  );

/** Whether the calendar has the date; one of each year where any year has it. */
function isDate(holiday: string): boolean {
  const date = holiday.startsWith("--") ? `2024-${holiday.slice(2)}` : holiday; // 2024 has 366 days
  const at = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(date);
}

const holidayIssues = (s: Part): ValidationIssue[] =>
  (s.holidays ?? []).flatMap((holiday, i) =>
    isDate(holiday) ? [] : [{ path: `holidays.${i}`, message: "is a date that the calendar does not have" }],
  );

function limitIssues(s: Part): ValidationIssue[] {
  const numbers = (s.rate_limit_whitelist ?? []).flatMap((n, i) => {
    const message = numberIssue(n);
    return message === null ? [] : [{ path: `rate_limit_whitelist.${i}`, message }];
  });
  return s.rate_limit_enabled === true && s.rate_limit_max_calls === undefined
    ? [{ path: "rate_limit_max_calls", message: "is required when rate_limit_enabled is true" }, ...numbers]
    : numbers;
}

function inboundIssues(s: Part): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  if (s.inbound_call_start_time !== undefined && s.inbound_call_end_time === undefined)
    issues.push({ path: "inbound_call_end_time", message: "is required with inbound_call_start_time" });
  if (s.inbound_call_end_time !== undefined && s.inbound_call_start_time === undefined)
    issues.push({ path: "inbound_call_start_time", message: "is required with inbound_call_end_time" });
  if (s.inbound_block_action === "REDIRECT" && s.inbound_redirect_number === undefined)
    issues.push({ path: "inbound_redirect_number", message: "is required when inbound_block_action is REDIRECT" });
  const redirect = s.inbound_redirect_number;
  const unfit = redirect === undefined ? null : (shortNumberIssue(redirect) ?? numberIssue(redirect));
  if (unfit !== null) issues.push({ path: "inbound_redirect_number", message: unfit });
  return issues;
}

const transferIssues = (s: Part): ValidationIssue[] =>
  (s.transfer_numbers ?? []).flatMap((number, i) => {
    const unfit = shortNumberIssue(number) ?? numberIssue(number);
    return unfit === null ? [] : [{ path: `transfer_numbers.${i}`, message: unfit }];
  });

const checkIssues = (s: Part): ValidationIssue[] =>
  (s.pre_checks ?? []).flatMap((check, i) => [
    ...preCheckIssues(check).map((f) => ({
      path: f.path ? `pre_checks.${i}.${f.path}` : `pre_checks.${i}`,
      message: f.message,
    })),
    ...requestIssues(check, `pre_checks.${i}`),
  ]);

/** The secrets that the pre-checks use, each with the path of its reference. */
export const secretsOfChecks = ({ pre_checks = [] }: Part): { path: string; name: string }[] =>
  pre_checks.flatMap(({ headers, body }, i) => secretReferences({ headers, body }, `pre_checks.${i}`));

/** What is wrong with settings as a whole although each field fits its schema. Equal window times are no issue: they mean all day. */
export const configurationIssues = (s: Part): ValidationIssue[] => [
  ...zoneIssues(s),
  ...holidayIssues(s),
  ...limitIssues(s),
  ...inboundIssues(s),
  ...transferIssues(s),
  ...checkIssues(s),
];

/** The settings with their phone numbers in the one spelling that every comparison uses, weekdays and holidays in order, each once. They must have passed `configurationIssues`. */
export const normalizedSettings = <T extends Part>(s: T): T => ({
  ...s,
  ...(s.weekdays === undefined ? {} : { weekdays: [...new Set(s.weekdays)].sort() }),
  ...(s.holidays === undefined ? {} : { holidays: [...new Set(s.holidays)].sort() }),
  ...(s.inbound_redirect_number === undefined
    ? {}
    : { inbound_redirect_number: toE164(s.inbound_redirect_number) ?? s.inbound_redirect_number }),
  ...(s.transfer_numbers === undefined
    ? {}
    : { transfer_numbers: [...new Set(s.transfer_numbers.map((n) => toE164(n) ?? n))] }),
  ...(s.rate_limit_whitelist === undefined
    ? {}
    : { rate_limit_whitelist: [...new Set(s.rate_limit_whitelist.map((n) => toE164(n) ?? n))] }),
});

/** Settings with a change over them; null removes a field, so that its default applies again. */
export const patchedSettings = (stored: Settings, patch: ConfigurationPatch): Settings =>
  Object.fromEntries(
    Object.entries({ ...stored, ...patch }).filter(([, value]) => value !== null),
  ) as unknown as Settings; // the seven required fields can't be null in a patch

/** Whether settings go together. VALIDATION_FAILED lists everything that does not. */
export function requireValidConfiguration(s: Settings): void {
  const errors = configurationIssues(s);
  if (errors.length > 0)
    fail(
      "VALIDATION_FAILED",
      `The configuration is not valid: ${errors.length === 1 ? "1 issue" : `${errors.length} issues`}, see errors. Nothing was saved.`,
      { errors },
    );
}
