import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import type { SpendReached } from "../../../shared/contracts/records/spend.ts";
import { recencyCache } from "../../../shared/cache.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import type { DialerParts } from "../deps.ts";
import { legPrice, longestSeconds, lowestPrice, ownersOf, type Charged, type SpendOwner } from "./spend-amounts.ts";
import { NOTHING, reserve, settle, type Ledger, type Wanted } from "./spend-reservations.ts";
import { roomIn, saidOf, unpricedFor, worstFor } from "./spend-room.ts";

/** A reservation that no call has by then is looked into: longer than any attempt takes from its reservation to its intent. */
const CALL_EXPECTED_WITHIN_MS = 6 * 60_000;
/** Ceilings whose being reached was told, at most. */
const MAX_TOLD = 10_000;

/** What reserving needs. */
export type SpendDeps = Pick<DialerParts, "clock" | "env" | "log" | "spendLedgers" | "toldCeilings">;

/** A leg that is about to be caused: its name among reservations, the number it goes to (null: it comes from the caller), and for how long at most. */
export interface SpendLeg extends Charged {
  ref: string;
  to: string | null;
  seconds: number;
  /** A live call is handed on: its minutes count from now on. */
  handed_on?: boolean;
  /** A session of a browser: no carrier is paid for its minutes. */
  unpaid?: boolean;
}

/** Which ceilings were told to be reached, of the process. */
export const createToldCeilings = () => recencyCache<true>({ max: MAX_TOLD });

/** Says once per process and period that a ceiling is reached. */
function tell({ log, toldCeilings, clock }: SpendDeps, owner: SpendOwner, reached: SpendReached): void {
  const key = [owner.id, reached.period, reached.what, reached.until ?? clock.now().toISOString().slice(0, 10)].join(
    " ",
  );
  if (toldCeilings.get(key)) return;
  toldCeilings.set(key, true);
  log.warn(
    { event: "spend.reached", owner: owner.id, ...reached },
    "a spend ceiling is reached: calls that do not fit under it wait, or are refused",
  );
}

/** Ends the reservation of a leg that was not caused. */
async function giveBackOf(
  { clock, spendLedgers }: SpendDeps,
  owners: readonly SpendOwner[],
  ref: string,
): Promise<void> {
  const now = clock.now();
  for (const { id } of owners) await spendLedgers.step(id, now, (ledger) => settle(ledger, ref, NOTHING, now));
}

/**
 * Reserves the worst case of a leg with its merchant and its reseller; why it does not fit, null: it does, or there is no ceiling. Where the reseller's
 * is reached, the merchant's reservation ends again. What a crash leaves behind is found by the sweep. Throws where a ledger can't be asked.
 */
export async function reserveSpend(deps: SpendDeps, leg: SpendLeg): Promise<SpendReached | null> {
  const owners = ownersOf(leg);
  if (owners.length === 0) return null;
  const price = leg.unpaid === true ? 0 : legPrice(deps.env, leg.to);
  const now = deps.clock.now();
  const until = plusMs(now, CALL_EXPECTED_WITHIN_MS);
  for (const [i, owner] of owners.entries()) {
    const worst = worstFor(owner, leg.seconds, price);
    const handed = leg.handed_on === true ? { leg: { from: now, micros_per_minute: price ?? 0 } } : {};
    const wanted: Wanted | null = worst && { ref: leg.ref, until, ...worst, ...handed };
    const reached = wanted
      ? await deps.spendLedgers.step(owner.id, now, (ledger) => reserve(ledger, owner.ceiling, wanted, now))
      : null;
    if (wanted && reached === null) continue;
    const said = reached ? saidOf(reached, owner.whose) : unpricedFor(owner);
    tell(deps, owner, said);
    await giveBackOf(deps, owners.slice(0, i), leg.ref).catch((error: unknown) => {
      deps.log.warn(
        { ref: leg.ref, error: errorForLog(error) },
        "a reservation could not be given back; a sweep does it",
      );
    });
    return said;
  }
  return null;
}

/** Ends the reservation of a leg that the carrier refused to cause. */
export const giveBackSpend = (deps: SpendDeps, leg: Charged & { ref: string }): Promise<void> =>
  giveBackOf(deps, ownersOf(leg), leg.ref);

/** How many more calls fit under their ceilings, for the scheduler. */
export async function spendRoom(
  { clock, env, spendLedgers }: SpendDeps,
  { calls }: ParamsOf<"dialer.spendRoom">,
): Promise<ResultOf<"dialer.spendRoom">> {
  const now = clock.now();
  const asked = calls.map((call) => ({ ...call, owners: ownersOf(call) }));
  const ids = [...new Set(asked.flatMap(({ owners }) => owners.map(({ id }) => id)))];
  const ledgers = new Map<string, Ledger>((await spendLedgers.findMany(ids)).map((ledger) => [ledger._id, ledger]));
  return {
    calls: asked.map(({ owners, to, unpaid, max_call_seconds }) => {
      const price = unpaid === true ? 0 : to === null ? lowestPrice(env) : legPrice(env, to);
      return roomIn(owners, ledgers, { seconds: longestSeconds(max_call_seconds), price }, now);
    }),
  };
}
