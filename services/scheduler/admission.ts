import type { Plan } from "../../shared/contracts/config.ts";
import type { ConfigurationRecord } from "../../shared/contracts/configuration.ts";
import type { DueLead } from "../../shared/contracts/lead.ts";
import { windowState } from "./calling-window.ts";

/** All that admission is decided from. `plan` null: the template no longer exists. */
export interface AdmissionInput { lead: DueLead; plan: Plan | null; blacklisted: boolean; now: Date }

/** Why a lead waits. */
export type HoldReason = "template_off" | "no_configuration" | "calling_disabled" | "outside_window" | "no_number" | "rate_limit";

/** What the gates say. `dial_until` null: the window never closes. */
export type Admission =
  | { verdict: "admit"; plan: Plan; configuration: ConfigurationRecord; dial_until: Date | null }
  | { verdict: "defer"; until: Date; why: HoldReason }
  | { verdict: "drop"; outcome: "BLACKLISTED" | "EXPIRED" | "failed"; reason: string };

/** How long a lead waits for a switch that a person must turn. */
export const SWITCH_RECHECK_SECONDS = 15;

const later = (now: Date, seconds: number): Date => new Date(now.getTime() + seconds * 1000);
const earlier = (a: Date, b: Date): Date => (a < b ? a : b);

/** The ordered gates. A held-back lead gets its next possible instant, never past its own expiry. */
export function admit({ lead, plan, blacklisted, now }: AdmissionInput): Admission {
  if (!plan) return { verdict: "drop", outcome: "failed", reason: "the template no longer exists" };
  const expires = later(new Date(lead.created_at), plan.max_age_seconds);
  if (now >= expires) return { verdict: "drop", outcome: "EXPIRED", reason: `not dialled within ${plan.max_age_seconds} seconds` };
  const hold = (until: Date, why: HoldReason): Admission => ({ verdict: "defer", until: earlier(until, expires), why });
  if (!plan.is_active) return hold(later(now, SWITCH_RECHECK_SECONDS), "template_off");
  const { configuration } = plan;
  if (!configuration) return hold(later(now, SWITCH_RECHECK_SECONDS), "no_configuration");
  if (configuration.enforce_blacklist && blacklisted) return { verdict: "drop", outcome: "BLACKLISTED", reason: "the number was put on the blacklist while the lead was queued" };
  if (!configuration.enable_calling) return hold(later(now, SWITCH_RECHECK_SECONDS), "calling_disabled");
  const window = windowState({ start: configuration.call_start_time, end: configuration.call_end_time, zone: configuration.timezone }, now);
  if (!window.open) return hold(window.opens_at, "outside_window");
  return { verdict: "admit", plan, configuration, dial_until: window.closes_at };
}
