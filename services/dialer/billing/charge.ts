import { parseCallPrices } from "../../../shared/call-prices.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import type { CostItem } from "../../../shared/contracts/records/attempt.ts";
import { pricePolled, priced } from "../call/call-state-machine.ts";
import { handleOf, isSession, type CallDoc } from "../call/calls.model.ts";
import type { Price } from "../carriers/carrier-port.ts";
import { carrierItem, tableItem, conversationSeconds } from "./cost-item.ts";
import { factsOf } from "../call/call-facts.ts";
import { isCarrierPriced } from "../spend/spend-amounts.ts";
import { settleSpend } from "../spend/spend-settlement.ts";
import { PRICE_POLLS_SECONDS } from "../call/call-deadlines.ts";
import type { DialerParts } from "../deps.ts";

/** When the price of a call is asked for next; null: it has one, it has none, or was asked for often enough. */
export function nextPricePoll(deps: Pick<DialerParts, "clock">, call: CallDoc): Date | null {
  const wait = PRICE_POLLS_SECONDS[call.cost_looks ?? 0];
  const talked = factsOf(call, null).answered_at !== null;
  return isSession(call) ||
    call.cost !== undefined ||
    call.carrier_call_id === undefined ||
    !talked ||
    wait === undefined
    ? null
    : plusSeconds(deps.clock.now(), wait);
}

/**
 * Writes the cost of the attempt to the lead, then to the call. The lead's sum is in the deployment's currency: an amount in another one is only
 * itemised.
 */
async function charge(deps: DialerParts, call: CallDoc, item: CostItem): Promise<void> {
  const { lead_id, claim_no } = call;
  await deps.bus.call("leads.annotate", {
    lead_id,
    claim_no,
    cost_breakdown: { items: [item] },
    ...(item.currency === deps.env.COST_CURRENCY ? { cost: item.amount } : {}),
  });
  await deps.calls.apply(priced(call._id, item));
}

/**
 * The carrier has named the price of a closed call: what it took is counted at that. While it may yet, our own price stays reserved, also where the price
 * table stands in by now: a sweep counts that (spend-settlement.ts).
 */
async function settlePriced(deps: DialerParts, { _id, order }: CallDoc): Promise<void> {
  if (order?.spend_ceilings === undefined) return;
  const call = await deps.calls.find(_id);
  if (call?.closed_at !== undefined && isCarrierPriced(call)) await settleSpend(deps, call, false);
}

/** The carrier named its price in a callback, for the call of this name. It stands in for one of the price table. */
export async function chargeReported(deps: DialerParts, ref: string, call_id: string, cost: Price): Promise<void> {
  const call = await deps.calls.find(ref);
  if (!call || ![call.carrier_call_id, call.carrier_leg_id].includes(call_id)) return;
  if (call.cost_what !== "carrier") await charge(deps, call, carrierItem(cost, conversationSeconds(call)));
  await settlePriced(deps, call);
}

/** The table's price of a conversation that the carrier names no price for. */
function byTable({ env }: Pick<DialerParts, "env">, call: CallDoc): CostItem | null {
  if (call.direction === "INBOUND" || call.order === undefined) return null; // the table has prices of numbers called
  return tableItem(
    parseCallPrices(env.CALL_PRICES).prices,
    call.order.to,
    conversationSeconds(call),
    env.COST_CURRENCY,
  );
}

/** Polls the price of a conversation, which carriers know some time after its end; after the last poll the price table stands in. */
export async function pollPrice(deps: DialerParts, call: CallDoc): Promise<void> {
  const handle = handleOf(call);
  if (call.provider === undefined || handle === null) return;
  const cost = call.cost === undefined ? ((await deps.carriers.of(call.provider).fetch(handle))?.cost ?? null) : null;
  const again = nextPricePoll(deps, { ...call, cost_looks: (call.cost_looks ?? 0) + 1 });
  const item = cost
    ? carrierItem(cost, conversationSeconds(call))
    : again === null && call.cost === undefined
      ? byTable(deps, call)
      : null;
  if (item) await charge(deps, call, item);
  if (item || again === null) await settlePriced(deps, call);
  await deps.calls.apply(pricePolled(call._id, item ? null : again));
}
