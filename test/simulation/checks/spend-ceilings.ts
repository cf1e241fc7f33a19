import type { CallDoc } from "../../../services/dialer/call/calls.model.ts";
import type { SpendLedgerDoc } from "../../../services/dialer/spend/spend-ledgers.model.ts";
import { reservedIn } from "../../../services/dialer/spend/spend-reservations.ts";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import type { SpendCeiling } from "../../../shared/contracts/records/spend.ts";
import type { SimCall } from "../actors/carrier-records.ts";
import type { Scene } from "../engine/scene.ts";
import type { Finding } from "./dial-invariants.ts";

const MS_PER_MINUTE = 60_000;
/** A call is reserved so long before it is placed at most: one that was placed right after midnight may count for the day before. */
const RESERVED_BEFORE_MS = 7 * MS_PER_MINUTE;
/** What a started minute costs (engine/deployment.ts). */
const PRICE = 0.02;
const KEY_CHARS = { day: 10, month: 7 } as const;
type Period = keyof typeof KEY_CHARS;

const keyOf = (ms: number, period: Period): string => new Date(ms).toISOString().slice(0, KEY_CHARS[period]);
const minutesOf = ({ answered, ended }: SimCall): number =>
  answered === null || ended === null ? 0 : Math.ceil((ended - answered) / MS_PER_MINUTE);

/** The calls of each merchant and reseller. */
function byOwner(scene: Scene): [string, SimCall[]][] {
  const leads = new Map(scene.database.docs<LeadDoc>("leads").map((l) => [l._id, l]));
  const owned = scene.carrier.calls.flatMap((call) => {
    const lead = leads.get(call.lead_id);
    return [lead?.merchant_id, lead?.reseller_id].flatMap((id) => (id ? [{ id, call }] : []));
  });
  return [...Map.groupBy(owned, ({ id }) => id)].map(([id, of]) => [id, of.map(({ call }) => call)]);
}

/** What calls took of a period, beyond its ceiling. */
function over(calls: readonly SimCall[], most: SpendCeiling["per_day"]): string[] {
  const minutes = calls.reduce((sum, call) => sum + minutesOf(call), 0);
  const took = { calls: calls.length, minutes, money: minutes * PRICE };
  return (["calls", "minutes", "money"] as const)
    .filter((what) => took[what] > (most?.[what] ?? Infinity) + 1e-9)
    .map((what) => `${took[what]} ${what} of ${most?.[what]}`);
}

/** I22, by the carrier's ledger: of no merchant and no reseller took calls more than the spend ceiling allows, in a day and in a month. */
export function spendCeilingViolations(scene: Scene): Finding[] {
  const { ceiling } = scene;
  if (ceiling === undefined) return [];
  return byOwner(scene).flatMap(([id, calls]) =>
    (["day", "month"] as const).flatMap((period) => {
      const sure = calls.filter(
        ({ created }) => keyOf(created, period) === keyOf(created - RESERVED_BEFORE_MS, period),
      );
      const most = period === "day" ? ceiling.per_day : ceiling.per_month;
      return [...Map.groupBy(sure, ({ created }) => keyOf(created, period))].flatMap(([key, of]) =>
        over(of, most).map((what): Finding => ({ invariant: "I22", what: `${id} took in ${key}: ${what}` })),
      );
    }),
  );
}

/** I22, when all is quiet: the ledger of the month counts every call that was at the carrier, or may have been, and none twice. */
export function spendLedgerViolations(scene: Scene): Finding[] {
  if (scene.ceiling === undefined) return [];
  const calls = scene.database
    .docs<CallDoc>("calls")
    .filter((c) => c.state === "ENDED" && (c.ended === "unknown" || c.carrier_call_id !== undefined));
  return scene.database.docs<SpendLedgerDoc>("spend_ledgers").flatMap((ledger): Finding[] => {
    const own = calls.filter(({ order }) => order?.merchant_id === ledger._id || order?.reseller_id === ledger._id);
    const counted = own.filter(({ created_at }) => keyOf(created_at.getTime(), "month") === ledger.month.key).length;
    const [least, most] = [ledger.month.calls, ledger.month.calls + reservedIn(ledger, "month").calls];
    if (least <= counted && counted <= most) return [];
    return [{ invariant: "I22", what: `the ledger of ${ledger._id} counts ${least} to ${most} calls of ${counted}` }];
  });
}
