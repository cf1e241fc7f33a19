import type { Bus } from "../../shared/bus.ts";
import { fail } from "../../shared/errors.ts";

/** What still hangs on a reseller or merchant, in words; null: nothing does. */
export async function ownsAnything(
  bus: Bus,
  owner: { reseller_id: string; merchant_id?: string },
): Promise<"templates" | "unfinished leads" | null> {
  const [templates, leads] = await Promise.all([bus.call("config.owns", owner), bus.call("leads.unfinished", owner)]);
  if (templates.any) return "templates";
  return leads.any ? "unfinished leads" : null;
}

/** Refuses a change without a change. */
export const namesNothing = (): never =>
  fail("VALIDATION_FAILED", "The body names no field to change.", {
    errors: [{ path: "", message: "names no field to change" }],
  });
