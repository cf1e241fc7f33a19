import type { ParamsOf } from "../../shared/bus.ts";
import { inSlices } from "../../shared/in-slices.ts";
import { defer, deferAgain } from "./lead-machine.ts";
import type { LeadsRepository } from "./leads.repository.ts";

type Item = ParamsOf<"leads.defer">["items"][number];

/** Deferrals written side by side. */
const PARALLEL = 25;

/** Puts a held-back lead off: for the same reason as before it is only counted, a new reason is remembered. False: it moved on meanwhile. */
async function putOff(leads: LeadsRepository, item: Item, now: Date): Promise<boolean> {
  const seen = { lead_id: item.lead_id, due_at: new Date(item.due_at) };
  const until = new Date(item.until);
  return (await leads.move(deferAgain(seen, until, item.why, now)) ?? await leads.move(defer(seen, until, item.why, now))) !== null;
}

/** How many of the leads were put off. */
export async function deferAll(leads: LeadsRepository, items: readonly Item[], now: Date): Promise<number> {
  return (await inSlices(items, PARALLEL, (item) => putOff(leads, item, now))).filter(Boolean).length;
}
