import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import type { Platform } from "../actors/platform.ts";
import type { Scene } from "../engine/scene.ts";
import type { Finding } from "./dial-invariants.ts";

const DAY_MS = 86_400_000;

/** I19, by the carrier's ledger: in no sliding window more calls of a tenant to one callee than its cap allows. */
export function calleeCapViolations(scene: Scene, { cap }: Pick<Platform, "cap">): Finding[] {
  if (cap === null) return [];
  const leads = new Map(scene.database.docs<LeadDoc>("leads").map((l) => [l._id, l]));
  const byCallee = Map.groupBy(scene.carrier.calls, (c) => `${leads.get(c.lead_id)?.merchant_id} ${c.to}`);
  const windows = [
    { most: cap.per_day, days: 1 },
    { most: cap.per_week, days: 7 },
  ];
  return [...byCallee.values()].flatMap((calls) => {
    const placed = [...calls].sort((a, b) => a.created - b.created);
    return windows.flatMap(({ most, days }) =>
      placed.flatMap((call, i): Finding[] => {
        const earlier = most === undefined ? undefined : placed[i - most];
        if (earlier === undefined || call.created - earlier.created >= days * DAY_MS) return [];
        const what = `${call.ref} rings a callee for the ${Number(most) + 1}th time within ${days} d: first ${earlier.ref}`;
        return [{ invariant: "I19", what }];
      }),
    );
  });
}
