import type { Bus } from "../../../shared/bus.ts";

/**
 * Whether the reseller and merchant that a user or token belongs to are there and switched on; nobody acts for one that is not. Asked anew each
 * time: the gateway's memory of an identity is the only one there is, or the five seconds of a revocation would be added up twice.
 */
export async function stands(
  bus: Bus,
  { reseller_id, merchant_id }: { reseller_id: string | null; merchant_id: string | null },
): Promise<boolean> {
  if (reseller_id === null) return true; // an admin's
  return (await bus.call("merchants.active", { reseller_id, ...(merchant_id === null ? {} : { merchant_id }) })).active;
}
