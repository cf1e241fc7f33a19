import type { CalleeCap } from "../../../shared/contracts/merchants.ts";
import type { SpendCeiling } from "../../../shared/contracts/records/spend.ts";

/** How the platform is. `cap`: on calls per callee, of every merchant. `ceiling`: of every merchant and reseller. */
export interface PlatformHow {
  cap?: CalleeCap | undefined;
  ceiling?: SpendCeiling | undefined;
  /** Every callee who is asked anything asks not to be called again; kept, or forgotten by a mutant. */
  wishes?: "kept" | "forgotten" | undefined;
  /** Limits of templates; absent: short ones. */
  limits?: { max_call_seconds: number; idle_seconds: number } | undefined;
  /** There are two tenants in any case. */
  two?: boolean;
}

/** What holds for all tenants, and who is paused. */
export interface Policies {
  paused: ReadonlyMap<string, readonly { said: boolean }[]>;
  cap: CalleeCap | null;
  ceiling: SpendCeiling | null;
}

/** What the merchants service says of pauses, caps and spend ceilings. */
export function policiesOf(
  { paused, cap, ceiling: spend_ceiling }: Policies,
  { merchant_ids, reseller_ids }: { merchant_ids: readonly string[]; reseller_ids: readonly string[] },
  now: number,
) {
  const pause = { at: new Date(now).toISOString(), by: "user:ann", reason: null };
  const isPaused = (id: string): boolean => paused.get(id)?.at(-1)?.said ?? false;
  return {
    deployment: isPaused("") ? pause : null,
    merchants: merchant_ids.filter(isPaused).map((id) => ({ id, pause })),
    ...(cap ? { caps: merchant_ids.map((id) => ({ id, max_calls_per_callee: cap })) } : {}),
    ...(spend_ceiling ? { ceilings: [...merchant_ids, ...reseller_ids].map((id) => ({ id, spend_ceiling })) } : {}),
  };
}
