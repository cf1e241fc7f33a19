import {
  emptyLedger,
  longestSeconds,
  ownersOf,
  reserve,
  roomIn,
  settle,
  worstCase,
  type Ledger,
} from "../../../services/dialer/pure.ts";
import type { SpendCeiling, SpendCeilings, SpendRoom } from "../../../shared/contracts/records/spend.ts";

/** The spend ceilings that the leads count for. `price`: of a started minute, in units of the deployment's currency; null: it is not known, so ceilings in money are left out. */
export interface SpendWorld {
  ceilings: SpendCeilings;
  price: number | null;
}

/** The ledgers of a rehearsal; nothing is taken before it. Instants in ms since 1970. */
export interface SpendForecast {
  /** How many more calls fit at this instant, and why none does. */
  room(at: number): SpendRoom;
  /** Reserves the worst case of a call; its name for `ended`. */
  dialled(at: number): string;
  ended(ref: string, at: number, talk_seconds: number): void;
}

const MICROS = 1_000_000;
const SECONDS_PER_MINUTE = 60;

function withoutMoney({ per_day, per_month }: SpendCeiling): SpendCeiling {
  const rest = (period: SpendCeiling["per_day"]) => {
    const { money: _money, ...others } = period ?? {};
    return others;
  };
  return { per_day: rest(per_day), per_month: rest(per_month) };
}

/** The ceilings as far as they are rehearsed. */
export function rehearsedCeilings({ ceilings, price }: SpendWorld): SpendCeilings {
  if (price !== null) return ceilings;
  const { merchant, reseller } = ceilings;
  return {
    ...(merchant ? { merchant: withoutMoney(merchant) } : {}),
    ...(reseller ? { reseller: withoutMoney(reseller) } : {}),
  };
}

/** Ledgers by the dialer's own rules. */
export function spendForecast(world: SpendWorld, max_call_seconds: number): SpendForecast {
  const owners = ownersOf({
    reseller_id: "reseller",
    merchant_id: "merchant",
    spend_ceilings: rehearsedCeilings(world),
  });
  const ledgers = new Map<string, Ledger>();
  const seconds = longestSeconds(max_call_seconds);
  const price = Math.round((world.price ?? 0) * MICROS);
  const worst = worstCase(seconds, price);
  let calls = 0;
  return {
    room: (at) => roomIn(owners, ledgers, { seconds, price }, new Date(at)),
    dialled(at) {
      const ref = String(calls++);
      const now = new Date(at);
      for (const { id, ceiling } of owners) {
        const before = ledgers.get(id) ?? emptyLedger(now);
        ledgers.set(id, reserve(before, ceiling, { ref, until: now, ...worst }, now).ledger);
      }
      return ref;
    },
    ended(ref, at, talk_seconds) {
      const now = new Date(at);
      const took = { calls: 1, minutes: Math.ceil(talk_seconds / SECONDS_PER_MINUTE), micros: null };
      for (const { id } of owners) ledgers.set(id, settle(ledgers.get(id) ?? emptyLedger(now), ref, took, now).ledger);
    },
  };
}
