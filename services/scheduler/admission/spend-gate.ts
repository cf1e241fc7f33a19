import type { SpendCeilings, SpendRoom } from "../../../shared/contracts/records/spend.ts";
import { SPEND_CEILING } from "../../../shared/contracts/records/explanation.ts";
import type { WaitingLead } from "../../../shared/contracts/records/lead.ts";
import { hold, notJudged, pass, type Ruling } from "./gate-verdict.ts";

/** The spend ceilings of the merchant and the reseller, null: none; and the room that they leave. Absent: not read, the dialer asks before it dials. */
export interface SpendInputs {
  at: Date;
  lead: Partial<Pick<WaitingLead, "held">> | null;
  ceilings?: SpendCeilings | null;
  spend?: SpendRoom | null;
}

type Reached = NonNullable<SpendRoom["reached"]>;

/** What is reached, for a person. Of a reseller's ceiling no figure is told: it is not the merchant's. */
function textOf({ whose, period, what, until }: Reached): string {
  if (what === "price")
    return `The ${whose}'s spend ceiling limits money, and the number to call has no price: it needs one in CALL_PRICES, or SPEND_DEFAULT_PRICE.`;
  if (what === "reservations") return `Too many calls are under way that count for the ${whose}'s spend ceiling.`;
  const limited = `The ${whose}'s spend ceiling per ${period ?? "period"} (UTC) has no room for another call's worst case in ${what}`;
  return until === null
    ? `${limited} while calls are under way; what they do not use becomes free as they end.`
    : `${limited}; the ${period ?? "period"} ends at ${until}.`;
}

/** The spend ceilings. Where the room was not asked: what the dialer last said. */
export function spendRuling({ at, lead, ceilings, spend }: SpendInputs): Ruling {
  if (ceilings === null) return pass("There is no spend ceiling.");
  if (spend?.reached) {
    const { until } = spend.reached;
    return hold(textOf(spend.reached), until === null ? null : new Date(until), { ...spend.reached });
  }
  if (spend) return pass("The spend ceilings have room for another call.");
  const until = lead?.held?.why === SPEND_CEILING ? new Date(lead.held.until) : null;
  return until === null || until <= at
    ? notJudged("Spend ceilings are judged right before the number is dialled.")
    : hold("The call does not fit under a spend ceiling.", until);
}
