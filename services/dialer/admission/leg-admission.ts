import type { ErrorCode } from "../../../shared/errors.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { deploymentDestinations, destinationIssue } from "../../../shared/numbering/destination.ts";
import { hasPhone } from "../../../shared/numbering/spellings.ts";
import { countryOf } from "../../../shared/phone.ts";
import { maskPhone } from "../../../shared/process/log.ts";
import { calleeCalls } from "../outbound/callee-cap.ts";
import { reserveSpend, type SpendDeps } from "../spend/spend-admission.ts";
import { limitsLength, ownersOf } from "../spend/spend-amounts.ts";
import type { DialerParts } from "../deps.ts";

/** A leg that we are about to cause: of an attempt, or to whom a call is handed on. `from`: the number of ours that it shows. */
export interface Leg extends Pick<
  DialJob,
  "to" | "from" | "reseller_id" | "merchant_id" | "enforce_blacklist" | "enable_international_call"
> {
  kind: "dial" | "transfer" | "redirect";
  /** A variable gave the target of a transfer: it must be listed. */
  from_variable?: boolean | undefined;
  transfer_numbers?: readonly string[];
  max_calls_per_callee?: DialJob["max_calls_per_callee"];
  spend_ceilings?: DialJob["spend_ceilings"];
  /** Under which name it is reserved, and how long it lasts at most. Of a dial that is reserved later. */
  reservation?: { ref: string; seconds: number };
}

/** Why a leg may not be caused; `why` begins with "the number" and names none. */
export interface LegRefusal {
  outcome: "NUMBER_UNAVAILABLE" | "BLACKLISTED" | "INTERNATIONAL_BLOCKED";
  code: ErrorCode;
  why: string;
}

/** What admission asks. */
export type LegDeps = SpendDeps & Pick<DialerParts, "calls" | "peers">;

/** One gate of admission; null: the leg passes it. */
type LegGate = (deps: LegDeps, leg: Leg) => LegRefusal | null | Promise<LegRefusal | null>;

const destination: LegGate = ({ env }, { to }) => {
  const issue = destinationIssue(to, deploymentDestinations(env.CALL_COUNTRIES, env.CALL_SPECIAL_NUMBERS));
  return issue === null
    ? null
    : { outcome: "NUMBER_UNAVAILABLE", code: "INVALID_PHONE_NUMBER", why: `the number ${issue}` };
};

/** Of a dial the scheduler has chosen a number of the callee's country. */
const international: LegGate = (_, { kind, to, from, enable_international_call }) => {
  if (kind === "dial" || enable_international_call !== false) return null;
  const country = countryOf(to);
  return country !== null && country === countryOf(from)
    ? null
    : {
        outcome: "INTERNATIONAL_BLOCKED",
        code: "FORBIDDEN",
        why: `the number is of ${country ?? "no country"}, and international calls are off`,
      };
};

const blacklist: LegGate = async ({ peers }, { enforce_blacklist, reseller_id, merchant_id, to }) =>
  enforce_blacklist && (await peers.isBlacklisted({ reseller_id, merchant_id, phone_number: to }))
    ? { outcome: "BLACKLISTED", code: "NUMBER_BLACKLISTED", why: "the number is on the blacklist" }
    : null;

/** Of a dial the cap makes the lead wait (callee-cap.ts); calls that are handed on count for none. */
const calleeCap: LegGate = async (deps, { kind, reseller_id, merchant_id, to, max_calls_per_callee: cap }) => {
  if (kind === "dial" || cap === undefined) return null;
  const { callees } = await calleeCalls(deps, {
    callees: [{ reseller_id, merchant_id, to, max_calls_per_callee: cap }],
  });
  return callees.every(({ free_at }) => free_at === null)
    ? null
    : {
        outcome: "NUMBER_UNAVAILABLE",
        code: "FORBIDDEN",
        why: "the number was called as often as the merchant's cap allows",
      };
};

/** Who fills in variables is not who may choose whom the deployment pays to call: their values only choose among the configuration's list. */
const listed: LegGate = (_, { from_variable, transfer_numbers = [], to }) =>
  from_variable !== true || hasPhone(transfer_numbers, to)
    ? null
    : {
        outcome: "NUMBER_UNAVAILABLE",
        code: "FORBIDDEN",
        why: "the number comes from a variable and is none of the configuration's transfer_numbers",
      };

/** The last one, for it reserves. Of a dial the lead waits (dial-checks.ts). */
const spend: LegGate = async (deps, leg) => {
  if (leg.reservation === undefined) return null;
  if (leg.kind === "redirect" && ownersOf(leg).some(({ ceiling }) => limitsLength(ceiling)))
    return {
      outcome: "NUMBER_UNAVAILABLE",
      code: "FORBIDDEN",
      why: "the number would be called for nobody knows how long, under a spend ceiling in minutes or money",
    };
  const reached = await reserveSpend(deps, { ...leg, ...leg.reservation, handed_on: leg.kind === "transfer" });
  return reached === null
    ? null
    : {
        outcome: "NUMBER_UNAVAILABLE",
        code: "FORBIDDEN",
        why: `the number can't be called under the ${reached.whose}'s spend ceiling (${reached.what})`,
      };
};

const GATES: readonly LegGate[] = [listed, destination, international, blacklist, calleeCap, spend];

/**
 * The one admission of every leg: dials, transfers, redirects of inbound calls. null: it may be caused. What is refused is logged, without the number.
 * Throws where a gate can't be asked: that is no refusal.
 */
export async function admitLeg(deps: LegDeps, leg: Leg): Promise<LegRefusal | null> {
  for (const gate of GATES) {
    const refusal = await gate(deps, leg);
    if (refusal === null) continue;
    deps.log.warn(
      { event: "leg.refused", kind: leg.kind, to: maskPhone(leg.to), outcome: refusal.outcome, why: refusal.why },
      "a call is not placed or handed on",
    );
    return refusal;
  }
  return null;
}
