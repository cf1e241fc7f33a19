import type { CallHandle } from "../carrier-port.ts";
import type { Lookup } from "./lookup.ts";
import { isMissing } from "./rest.ts";

/** Acts on a call's leg. Plivo gives requests and legs the same name as a rule; where it does not, the leg is searched among the calls under way. */
export async function onLeg(
  lookup: Lookup,
  { call_id, leg_id }: CallHandle,
  act: (leg: string) => Promise<unknown>,
): Promise<void> {
  try {
    await act(leg_id ?? call_id);
  } catch (error) {
    if (leg_id !== null || !isMissing(error)) throw error;
    const leg = await lookup.legOf(call_id);
    if (leg === null) throw error;
    await act(leg);
  }
}
