import { pricePerMinute, type CallPrices } from "../../../shared/call-prices.ts";
import type { CostItem } from "../../../shared/contracts/records/attempt.ts";
import { countryOf } from "../../../shared/phone.ts";
import type { CallDoc } from "../call/calls.model.ts";
import type { Price } from "../carriers/carrier-port.ts";

/** Carriers' own precision. */
const DECIMALS = 1e6;
const SECONDS_PER_MINUTE = 60;

const rounded = (amount: number): number => Math.round(amount * DECIMALS) / DECIMALS;

/** Duration of the conversation, as the carrier reported it, else from answer to end; 0 for an unanswered call. Pure. */
export function conversationSeconds({
  talk_seconds,
  answered_at,
  ended_at,
}: Pick<CallDoc, "talk_seconds" | "answered_at" | "ended_at">): number {
  if (talk_seconds !== undefined) return talk_seconds;
  return answered_at && ended_at ? Math.max(0, (ended_at.getTime() - answered_at.getTime()) / 1000) : 0;
}

const minutesOf = (seconds: number): number => Math.ceil(seconds / SECONDS_PER_MINUTE);

/** What the carrier asks for a call. Pure. */
export const carrierItem = ({ amount, currency }: Price, seconds: number): CostItem => ({
  what: "carrier",
  minutes: minutesOf(seconds),
  price_per_minute: null,
  amount: rounded(amount),
  currency,
});

/** What the price table gives for a call to this number, by started minutes; null: no conversation took place, or the table names no price. Pure. */
export function tableItem(prices: CallPrices, to: string, seconds: number, currency: string): CostItem | null {
  const price = pricePerMinute(prices, countryOf(to));
  const minutes = minutesOf(seconds);
  return price === null || minutes === 0
    ? null
    : { what: "price_table", minutes, price_per_minute: price, amount: rounded(price * minutes), currency };
}
