import type { Bus } from "../../../shared/bus/bus.ts";

/**
 * Whether the reseller and merchant of a user or token exist and are active; otherwise neither may act. Never cached here: the gateway's
 * cache of identities is the only one, or the five seconds in which a revocation takes effect would add up twice.
 */
export async function isTenantActive(
  bus: Bus,
  { reseller_id, merchant_id }: { reseller_id: string | null; merchant_id: string | null },
): Promise<boolean> {
  if (reseller_id === null) return true; // an admin's
  return (await bus.call("merchants.active", { reseller_id, ...(merchant_id === null ? {} : { merchant_id }) })).active;
}
