import { parseCallPrices, pricePerMinute } from "../../../shared/call-prices.ts";
import type { SpendCeiling, SpendCeilings } from "../../../shared/contracts/records/spend.ts";
import type { Env } from "../../../shared/process/env.ts";
import { countryOf } from "../../../shared/phone.ts";
import { conversationSeconds } from "../billing/cost-item.ts";
import type { CallDoc } from "../call/calls.model.ts";
import { NOTHING, type Amounts, type PeriodCeiling, type SpendAmounts, type Took } from "./spend-reservations.ts";

/** Whose ledger a call counts in, and under which ceiling. */
export interface SpendOwner {
  id: string;
  whose: "merchant" | "reseller";
  ceiling: SpendAmounts;
}

/** What says for whom a call counts. */
export interface Charged {
  reseller_id: string;
  merchant_id: string | null;
  spend_ceilings?: SpendCeilings | undefined;
}

/** The variables that name prices. */
export type PriceEnv = Pick<Env, "CALL_PRICES" | "SPEND_DEFAULT_PRICE" | "COST_CURRENCY">;

const MICROS = 1_000_000;
const SECONDS_PER_MINUTE = 60;
/** A conversation may last so much longer than its longest length, by us and by the carrier: one that goes on is polled after a minute, and ended. */
const OVERRUN_SECONDS = 90;

const microsOf = (amount: number): number => Math.round(amount * MICROS);

function amountsOf(of: SpendCeiling["per_day"]): PeriodCeiling {
  const { calls, minutes, money } = of ?? {};
  return {
    ...(calls === undefined ? {} : { calls }),
    ...(minutes === undefined ? {} : { minutes }),
    ...(money === undefined ? {} : { micros: microsOf(money) }),
  };
}

/** A ceiling in the amounts that ledgers count in. Pure. */
export const amountsOfCeiling = ({ per_day, per_month }: SpendCeiling): SpendAmounts => ({
  ...(per_day ? { per_day: amountsOf(per_day) } : {}),
  ...(per_month ? { per_month: amountsOf(per_month) } : {}),
});

/** The ledgers that a call counts in, in the order in which they are asked; none without a ceiling. Pure. */
export function ownersOf({ reseller_id, merchant_id, spend_ceilings: of }: Charged): SpendOwner[] {
  const owner = (whose: SpendOwner["whose"], id: string | null, ceiling: SpendCeiling | undefined): SpendOwner[] =>
    ceiling === undefined || id === null ? [] : [{ id, whose, ceiling: amountsOfCeiling(ceiling) }];
  return [...owner("merchant", merchant_id, of?.merchant), ...owner("reseller", reseller_id, of?.reseller)];
}

/** Whether a ceiling limits money. Pure. */
export const limitsMoney = ({ per_day, per_month }: SpendAmounts): boolean =>
  per_day?.micros !== undefined || per_month?.micros !== undefined;

/** Whether a ceiling limits how long calls last together. Pure. */
export const limitsLength = (ceiling: SpendAmounts): boolean =>
  limitsMoney(ceiling) || ceiling.per_day?.minutes !== undefined || ceiling.per_month?.minutes !== undefined;

/** The price of a started minute of a leg to this number, in millionths; `to` null: nobody is called. null: there is none. */
export function legPrice(env: PriceEnv, to: string | null): number | null {
  const named = to === null ? null : pricePerMinute(parseCallPrices(env.CALL_PRICES).prices, countryOf(to));
  const price = named ?? (env.SPEND_DEFAULT_PRICE === undefined ? null : Number(env.SPEND_DEFAULT_PRICE));
  return price === null ? null : microsOf(price);
}

/** The lowest price that a started minute of any leg may have, in millionths; null: there is none. */
export function lowestPrice(env: PriceEnv): number | null {
  const own = env.SPEND_DEFAULT_PRICE === undefined ? [] : [Number(env.SPEND_DEFAULT_PRICE)];
  const prices = [...parseCallPrices(env.CALL_PRICES).prices.values(), ...own];
  return prices.length === 0 ? null : microsOf(Math.min(...prices));
}

/** Most seconds that a conversation of this longest length may last. Pure. */
export const longestSeconds = (max_call_seconds: number): number => max_call_seconds + OVERRUN_SECONDS;

/** What a leg takes at most that lasts for so many seconds at the longest. Pure. */
export function worstCase(seconds: number, micros_per_minute: number): Amounts {
  // an end within the last second may be counted as the next one
  const minutes = Math.floor(Math.max(0, seconds) / SECONDS_PER_MINUTE) + 1;
  return { calls: 1, minutes, micros: minutes * micros_per_minute };
}

/** Whether nothing was dialled, or the carrier took no call. */
const neverWas = ({ state, ended, carrier_call_id }: CallDoc): boolean =>
  state === "VOID" || ended === "not_dialled" || (ended !== "unknown" && carrier_call_id === undefined);

/** Whether the carrier has named the price of a call. Pure. */
export const isCarrierPriced = ({ cost, cost_what }: CallDoc): boolean =>
  cost !== undefined && cost_what !== "price_table";

/**
 * What an ended call took: started minutes of conversation, at the price that the carrier named, else at the one that was reserved. What nobody knows the end
 * of counts at its worst case.
 */
export function tookOf({ COST_CURRENCY }: PriceEnv, call: CallDoc): Took {
  if (neverWas(call)) return NOTHING;
  if (call.ended === "unknown")
    return { ...worstCase(longestSeconds(call.order?.max_call_seconds ?? 0), 0), micros: null };
  const minutes = Math.ceil(conversationSeconds(call) / SECONDS_PER_MINUTE);
  const named = isCarrierPriced(call) && call.cost_currency === COST_CURRENCY;
  return { calls: 1, minutes, micros: named ? microsOf(call.cost ?? 0) : null };
}
