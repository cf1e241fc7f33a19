import type { Bus } from "../../shared/bus/bus.ts";

/** What a reseller or merchant still owns; null: nothing. */
export async function ownedResources(
  bus: Bus,
  owner: { reseller_id: string; merchant_id?: string },
): Promise<"templates" | "unfinished leads" | null> {
  const [templates, leads] = await Promise.all([bus.call("config.owns", owner), bus.call("leads.unfinished", owner)]);
  if (templates.any) return "templates";
  return leads.any ? "unfinished leads" : null;
}

/** What goes with a tenant that is deleted: its secrets and doors, and the endpoints that hear of its events. */
export async function dropOwned(bus: Bus, owner: { reseller_id: string; merchant_id?: string }): Promise<void> {
  await bus.call("config.dropSecrets", owner);
  await bus.call("webhook.dropEndpoints", owner);
}
