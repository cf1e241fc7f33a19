import { DECISION_CODES, type AttemptFacts } from "../../../shared/contracts/records/attempt.ts";
import { DIALLED_MODES } from "../../../shared/contracts/records/lead.ts";
import { exponentialMs, jitterMs } from "../../../shared/time/backoff.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import type { Faults, LeadDoc } from "../leads.model.ts";

/** A lead is parked from this many technical faults in a row on. */
export const PARKED_AFTER = 5;
/** Pause before the next try, ms: doubled with each fault in a row, spread by this share. */
const FIRST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 600_000;
const PAUSE_SPREAD = 0.2;

/** What `faults.parked_at` of every parked lead fulfils: a range, which the index of parked leads serves. */
export const IS_PARKED = { $gt: new Date(0) } as const;

/** What of a lead tells its age. */
export type Aged = Pick<LeadDoc, "created_at" | "aged_from" | "faults">;

/** The faults in a row with one more. `at_once`: the lead is parked now, however few there were. */
export function withFault(before: Faults | undefined, code: string, now: Date, at_once = false): Faults {
  const count = Math.max((before?.count ?? 0) + 1, at_once ? PARKED_AFTER : 0);
  const parked_at = before?.parked_at ?? (count >= PARKED_AFTER ? now : undefined);
  return { count, code, since: before?.since ?? now, ...(parked_at === undefined ? {} : { parked_at }) };
}

/** When a lead is tried again after so many faults in a row. `random` is in [0, 1). */
export const nextTryAt = ({ count }: Faults, now: Date, random: number): Date =>
  plusMs(now, jitterMs(exponentialMs(count - 1, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), PAUSE_SPREAD, random));

/** From when a lead's age counts once its faults are over: the time for which it was parked is not part of it. Null: as before. */
export function agedFrom({ created_at, aged_from, faults }: Aged, now: Date): Date | null {
  if (faults?.parked_at === undefined) return null;
  return plusMs(aged_from ?? created_at, Math.max(0, now.getTime() - faults.parked_at.getTime()));
}

/** What is written on a lead that waits for something else than the end of its faults: it is not parked, and ages; the next fault parks it again. Its faults stay counted. */
export function notParked(lead: Aged, now: Date): Record<string, unknown> {
  const aged_from = agedFrom(lead, now);
  if (aged_from === null || lead.faults === undefined) return {};
  const { count, code, since } = lead.faults;
  return { faults: { count, code, since }, aged_from, expiry_from: aged_from };
}

/** Its technical faults are over: it ages again. */
export const withoutFaults = (lead: Aged, now: Date): { $set: Record<string, unknown>; $unset: Record<string, 1> } => {
  const aged_from = agedFrom(lead, now);
  return {
    $set: aged_from === null ? {} : { aged_from, expiry_from: aged_from },
    $unset: lead.faults === undefined ? {} : { faults: 1 },
  };
};

/** Where the age of a lead begins that does not expire. */
export const NEVER_AGES = new Date("9999-12-31T00:00:00.000Z");

/** From when `max_age_seconds` of a lead counts. A parked lead does not age; one without a number to dial stays until somebody aborts it. */
export function expiryFrom(lead: Aged & Pick<LeadDoc, "phone_number" | "execution_mode">): Date {
  const callable = lead.phone_number !== null || !DIALLED_MODES.includes(lead.execution_mode);
  return callable && lead.faults?.parked_at === undefined ? (lead.aged_from ?? lead.created_at) : NEVER_AGES;
}

/** Where nothing was dialled and no decision about the lead was the cause, the code of the technical fault; null elsewhere. */
export function technicalFault({ ended, dropped_as, error }: AttemptFacts): string | null {
  if (ended !== "not_dialled" || dropped_as !== null) return null;
  const code = typeof error?.["code"] === "string" ? error["code"] : "INTERNAL";
  return DECISION_CODES.includes(code) ? null : code;
}
