import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import { CALLEE_ZONE_IGNORED } from "../checks/mutations.ts";
import { theScene } from "../engine/scene.ts";

/** An hour ahead of the callees, who are in California: windows that have just opened here are shut there. Their clock counts for such a tenant alone. */
const BESIDE_CALLEES = "America/Denver";
/** Where tenants are. */
export const ZONES = ["UTC", "Europe/Berlin", "America/New_York", BESIDE_CALLEES, "Australia/Lord_Howe"] as const;
const HALF_AN_HOUR_MS = 1_800_000;

/** The window of such a tenant, where it is the run's second: half an hour to either side is open here, and shut there for the whole storm. */
export function zoned(timezone: string, second: boolean, now: number) {
  if (timezone !== BESIDE_CALLEES) return { timezone, respect_callee_timezone: false };
  const format = new Intl.DateTimeFormat("en-GB", { timeZone: timezone, hour: "2-digit", minute: "2-digit" });
  const aside = { call_start_time: format.format(now - HALF_AN_HOUR_MS), call_end_time: format.format(now + HALF_AN_HOUR_MS) }; // prettier-ignore
  return { timezone, respect_callee_timezone: true, ...(second ? aside : {}) };
}

/** What the scheduler is told of a configuration. */
export const told = (said: ConfigurationRecord): ConfigurationRecord =>
  theScene().mutation === CALLEE_ZONE_IGNORED ? { ...said, respect_callee_timezone: false } : said;
