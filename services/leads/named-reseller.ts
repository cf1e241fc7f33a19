import type { Bus } from "../../shared/bus/bus.ts";
import { fail } from "../../shared/errors.ts";

/** Makes sure that there is a reseller whom a request names. RESELLER_NOT_FOUND. */
export async function checkReseller(bus: Bus, reseller_id: string): Promise<void> {
  const { reseller } = await bus.call("merchants.lookup", { reseller_id });
  if (!reseller)
    fail("RESELLER_NOT_FOUND", "reseller_id names no reseller; list them with GET /resellers.", {
      errors: [{ path: "reseller_id", message: "is unknown" }],
    });
}
