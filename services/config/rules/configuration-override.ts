import type { CallingWindow } from "../../../shared/calling-window.ts";
import { configurationFields } from "../../../shared/contracts/records/configuration.ts";
import { Json, Strict, Type } from "../../../shared/contracts/define.ts";
import type { ValidationIssue } from "../../../shared/errors.ts";
import { issueChecker } from "../../../shared/validator.ts";
import type { Settings } from "../configurations/configurations.model.ts";
import { configurationIssues, normalizedSettings, secretsOfChecks } from "./configuration-validation.ts";

/** What a playground run changes of its template's configuration (4.2): whether it is valid, what it may lift, and the merged whole. Pure. */

type Fields = Readonly<Record<string, unknown>>;

/** Stored beside an override's fields: the lead's number is one of the merchant's test numbers. Never a field of a client. */
export const TEST_NUMBER = "test_number";

const shapeIssues = issueChecker(Strict(Type.Partial(Type.Object(configurationFields)).properties));

/** Everything that keeps an override from being merged over a configuration (null: the template has none yet), each with its path. */
export function overrideIssues(stored: Settings | null, fields: Fields): ValidationIssue[] {
  const issues = shapeIssues(fields);
  if (issues.length > 0) return issues;
  const before = new Set(configurationIssues(stored ?? {}).map((issue) => JSON.stringify(issue)));
  return [
    ...configurationIssues({ ...stored, ...fields }).filter((issue) => !before.has(JSON.stringify(issue))),
    ...secretsOfChecks(fields).map(({ path, name }) => ({
      path,
      message: `uses {{secrets.${name}}}, which only a stored configuration may: an override could send it anywhere`,
    })),
  ];
}

type Hours = Pick<CallingWindow, "start" | "end" | "zone">;

const DAY_MINUTES = 1440;
const EVERY_DAY = [1, 2, 3, 4, 5, 6, 7];
const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
/** Minutes from one time of day to the next such time. */
const minutesFrom = (from: string, to: string): number => (minutesOf(to) - minutesOf(from) + DAY_MINUTES) % DAY_MINUTES;

/** Whether hours are open at any time at which the others are not. In another zone they count as wider, whatever they are: clocks change on different days. */
function isWider(hours: Hours, than: Hours): boolean {
  if (than.start === than.end) return false; // all day
  if (hours.zone !== than.zone || hours.start === hours.end) return true;
  return minutesFrom(than.start, hours.start) + minutesFrom(hours.start, hours.end) > minutesFrom(than.start, than.end);
}

/** Whether the days have one on which the others are shut; an annual holiday stands for its date in any year. */
const hasMoreDays = (days: Partial<Settings>, than: Partial<Settings>): boolean =>
  than.weekdays !== undefined && !(days.weekdays ?? EVERY_DAY).every((day) => than.weekdays?.includes(day));
const hasFewerHolidays = (days: Partial<Settings>, than: Partial<Settings>): boolean =>
  !(than.holidays ?? []).every((date) => [date, `-${date.slice(4)}`].some((of) => days.holidays?.includes(of)));

const HOURS = ["call_start_time", "call_end_time", "timezone"] as const;
const WINDOW = [...HOURS, "weekdays", "holidays", "respect_callee_timezone"] as const;

/** Whether some days are shut: in another zone they are other days. */
const hasDays = ({ weekdays, holidays }: Partial<Settings>): boolean =>
  (weekdays?.length ?? EVERY_DAY.length) < EVERY_DAY.length || (holidays ?? []).length > 0;

/** Whether an override hands calls to numbers that the configuration does not list. */
const hasMoreTransfers = (fields: Partial<Settings>, than: Partial<Settings>): boolean =>
  !(fields.transfer_numbers ?? []).every((number) => than.transfer_numbers?.includes(number));

/** Whether an override has to do with what protects the callee. */
export const concernsCallee = (fields: Fields): boolean =>
  fields["enforce_blacklist"] === false ||
  Object.hasOwn(fields, "transfer_numbers") ||
  WINDOW.some((field) => Object.hasOwn(fields, field));

/** The fields of an override that lift what protects the callee: a wider calling window, a blacklist that is not enforced, other transfer targets. */
export function liftingFields(stored: Settings, fields: Partial<Settings>, default_timezone: string): string[] {
  const hoursOf = (s: Settings): Hours => ({
    start: s.call_start_time,
    end: s.call_end_time,
    zone: s.timezone ?? default_timezone,
  });
  const lifts = fields.enforce_blacklist === false && stored.enforce_blacklist !== false;
  const merged = { ...stored, ...fields };
  const moved = hoursOf(merged).zone !== hoursOf(stored).zone && (hasDays(stored) || hasDays(merged));
  return [
    ...(moved || isWider(hoursOf(merged), hoursOf(stored))
      ? HOURS.filter((field) => Object.hasOwn(fields, field))
      : []),
    ...(hasMoreDays(merged, stored) ? ["weekdays"] : []),
    ...(hasFewerHolidays(merged, stored) ? ["holidays"] : []),
    ...(fields.respect_callee_timezone === false && stored.respect_callee_timezone !== false
      ? ["respect_callee_timezone"]
      : []),
    ...(lifts ? ["enforce_blacklist"] : []),
    ...(hasMoreTransfers(fields, stored) ? ["transfer_numbers"] : []),
  ];
}

/** Overrides that were stored before pre-checks were bounded hold as they are. */
const pre_checks = Type.Optional(Type.Array(Json, { maxItems: 10 }));
const storedIssues = issueChecker(Type.Partial(Strict({ ...configurationFields, pre_checks })));

/** The fields of a stored override that are known and have a usable value; overrides from before they were checked may hold anything. */
function usable(override: Fields): Partial<Settings> {
  const bad = new Set(storedIssues(override).map((f) => f.path.split(".")[0]));
  return Object.fromEntries(
    Object.entries(override).filter(([field]) => Object.hasOwn(configurationFields, field) && !bad.has(field)),
  );
}

/** Fields that are judged together: where one of them is at issue, none of the override's is taken. */
const groupOf = (field: string): string => /^(?:rate_limit|inbound)_/.exec(field)?.[0] ?? field;

/**
 * Stored settings with a lead's override merged over them. The settings may have changed since the push: what no longer goes together with them is
 * left out, and so is what lifts the protection of a callee that is not a test number.
 */
export function overridden(stored: Settings, override: Fields, default_timezone: string): Settings {
  const fields = usable(override);
  const lifting = override[TEST_NUMBER] === true ? [] : liftingFields(stored, fields, default_timezone);
  // who pushes a lead need not be the one whose secrets these are
  const leaking = secretsOfChecks(fields).length > 0 ? ["pre_checks"] : [];
  const wanted = Object.entries(fields).filter(([field]) => ![...lifting, ...leaking].includes(field));
  const over = (of: [string, unknown][]): Settings => ({ ...stored, ...Object.fromEntries(of) });
  const faulty = new Set(configurationIssues(over(wanted)).map((f) => groupOf(f.path.split(".")[0] ?? "")));
  return normalizedSettings(over(wanted.filter(([field]) => !faulty.has(groupOf(field)))));
}
