import type { CallDoc } from "../../../services/dialer/call/calls.model.ts";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import type { SimCall } from "../actors/carrier-records.ts";
import type { Scene } from "../engine/scene.ts";
import type { Finding } from "./dial-invariants.ts";

/** What is on its way to a carrier arrives so soon, ms. */
const ARRIVES_WITHIN_MS = 5000;

/**
 * Calls of other attempts that are live, but those that were given up before they were heard of. None, where the placed call is one of those: its process
 * stood still with the request in hand for longer than it is looked for, which nothing can prevent; whoever answers it is hung up on (I2).
 */
function othersOf(scene: Scene, placed: SimCall): SimCall[] {
  const docs = new Map(scene.database.docs<CallDoc>("calls").map((c) => [c._id, c]));
  const isStray = ({ ref }: SimCall): boolean => {
    const state = docs.get(ref)?.state;
    return state === "VOID" || state === "ENDED";
  };
  const { pauses, world } = scene.stage;
  const askedBy = new Set(scene.carrier.decisions.filter(({ ref }) => ref === placed.ref).map(({ by }) => by));
  const stoodStill = pauses.some(
    ({ process, from, to }) =>
      askedBy.has(process) &&
      to - from >= scene.placementGraceMs &&
      to <= world.now &&
      to >= world.now - ARRIVES_WITHIN_MS,
  );
  if (isStray(placed) && stoodStill) return [];
  return scene.carrier.live().filter((c) => c !== placed && c.ref !== placed.ref && !isStray(c));
}

/** I12 and I17, asked when a call is placed: no former call of its lead is live, and its callee is in no other call of its tenant. */
export function otherCallViolations(scene: Scene, placed: SimCall): Finding[] {
  const leads = new Map(scene.database.docs<LeadDoc>("leads").map((l) => [l._id, l]));
  const tenantOf = ({ lead_id }: SimCall): string | undefined => {
    const lead = leads.get(lead_id);
    return lead?.merchant_id ?? lead?.reseller_id;
  };
  return othersOf(scene, placed).flatMap((c): Finding[] => {
    if (c.lead_id === placed.lead_id)
      return [{ invariant: "I12", what: `${placed.ref} is placed while ${c.id} (${c.ref}) of the same lead is live` }];
    if (c.to === placed.to && tenantOf(c) === tenantOf(placed))
      return [
        { invariant: "I17", what: `${placed.ref} rings a callee whom ${c.ref} of the same tenant has on the line` },
      ];
    return [];
  });
}
